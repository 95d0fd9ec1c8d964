// What an operator's choices of template arguments are declared by; a host tells them apart, a kernel has no use for it.
#pragma once

#define ASCENDC_TPL_ARGS_DECL(...)
#define ASCENDC_TPL_SEL(...)
#define ASCENDC_TPL_ARGS_SEL(...)
