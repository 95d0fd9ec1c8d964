"""Objects whose methods are called: for each public class an expression that makes one, or why there is none."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["CLASSES_LEFT_OUT", "OBJECTS", "class_of"]

_TRACED = "torch.jit.trace(torch.sin, torch.ones(2))"
_CUSTOM_OP = (
    "torch.library.custom_op('fuzz_op::f', lambda x: x.clone(), mutates_args=(), schema='(Tensor x) -> Tensor')"
)
_FUNCTION = (
    "type('Double', (torch.autograd.Function,), {'forward': staticmethod(lambda ctx, *xs: xs[0] * 2), "
    "'backward': staticmethod(lambda ctx, g: g * 2)})()"
)

_OPTIMIZER = "torch.optim.SGD([torch.tensor([1.0], requires_grad=True)], lr=0.1, momentum=0.9)"
_OPTIMIZERS = "ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS NAdam RAdam RMSprop Rprop SGD SparseAdam"
# The arguments that modules are made with -> which.
_MODULES = {
    "": "CELU ELU GLU SELU Hardshrink Hardsigmoid Hardswish Hardtanh LogSigmoid Mish PReLU RReLU ReLU6 Softmax2d "
    "Softplus Softshrink Softsign Tanhshrink AlphaDropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout BCELoss "
    "BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CosineSimilarity GaussianNLLLoss HingeEmbeddingLoss HuberLoss "
    "KLDivLoss MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss2d "
    "PairwiseDistance PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss "
    "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d "
    "LinearCrossEntropyOptions",
    "1": "Softmin ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d "
    "CircularPad1d CircularPad2d CircularPad3d ZeroPad1d ZeroPad2d ZeroPad3d",
    "2": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d "
    "AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d BatchNorm1d "
    "BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm RMSNorm LocalResponseNorm "
    "PixelShuffle PixelUnshuffle ChannelShuffle Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d LazyLinear "
    "CrossMapLRN2d SyncBatchNorm",
    "1, 2": "ConstantPad1d ConstantPad2d ConstantPad3d GroupNorm LPPool1d LPPool2d LPPool3d Threshold",
    "2, 2": "EmbeddingBag Fold GRU GRUCell LSTM LSTMCell LinearCrossEntropyLoss RNN RNNCell",
    "4, 6, [2]": "AdaptiveLogSoftmaxWithLoss",
    "2, 1": "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d "
    "MultiheadAttention TransformerDecoderLayer TransformerEncoderLayer",
    "2, 2, 1": "Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "2, output_size=2": "FractionalMaxPool2d FractionalMaxPool3d",
    "1, (1, 2)": "Unflatten",
    "'GRU', 2, 2": "RNNBase",
    "2, 2, True, 1": "RNNCellBase",
    "torch.nn.TransformerDecoderLayer(2, 1, 4), 1": "TransformerDecoder",
    "torch.nn.TransformerEncoderLayer(2, 1, 4), 1": "TransformerEncoder",
    "2, 1, 1, 1, 4": "Transformer",
}
_SCHEDULES = {
    "": "ConstantLR LinearLR PolynomialLR ReduceLROnPlateau",
    ", 2": "CosineAnnealingLR CosineAnnealingWarmRestarts StepLR",
    ", 0.5": "ExponentialLR",
    ", lambda epoch: 0.5": "LambdaLR MultiplicativeLR",
    ", [2]": "MultiStepLR",
    ", 0.1, 0.2": "CyclicLR",
    ", 0.2, 10": "OneCycleLR",
}

# Of `torch.utils.data`, d; s is a data set.
_DATA = (
    "TensorDataset(torch.ones(2))",
    "ConcatDataset([s, s])",
    "StackDataset(s, s)",
    "Subset(s, [1, 0])",
    "ChainDataset([])",
    "SequentialSampler(s)",
    "RandomSampler(s)",
    "SubsetRandomSampler([1, 0])",
    "WeightedRandomSampler([0.5, 0.5], 2)",
    "BatchSampler([0, 1], 1, False)",
    "DistributedSampler(s, 2, 0)",
    "DataLoader(s)",
)

# Of `torch.distributions`, by what they are made with; x is two numbers, d the module.
_DISTRIBUTIONS = {
    "": "AbsTransform CorrCholeskyTransform ExpTransform LowerCholeskyTransform PositiveDefiniteTransform "
    "SigmoidTransform SoftmaxTransform SoftplusTransform StickBreakingTransform TanhTransform Distribution",
    "x": "Bernoulli Categorical Chi2 ContinuousBernoulli Dirichlet Exponential Geometric HalfCauchy HalfNormal "
    "OneHotCategorical OneHotCategoricalStraightThrough Poisson PowerTransform",
    "x, x": "Beta Cauchy FisherSnedecor Gamma Gumbel InverseGamma Kumaraswamy Laplace LogNormal LogisticNormal Normal "
    "Pareto RelaxedBernoulli VonMises Weibull",
    "3, x": "AffineTransform Binomial LKJCholesky Multinomial NegativeBinomial StudentT",
    "x, x + 1": "Uniform",
    "x, x, x": "GeneralizedPareto",
    "x[0], x": "RelaxedOneHotCategorical",
    "x, torch.eye(2)": "MultivariateNormal",
    "3, torch.eye(2)": "Wishart",
    "x, x.view(2, 1), x": "LowRankMultivariateNormal",
    "d.Normal(x, x), 1": "Independent",
    "d.Normal(x, x), d.ExpTransform()": "TransformedDistribution",
    "d.Categorical(x), d.Normal(x, x)": "MixtureSameFamily",
    "d.Normal(0.0, 1.0)": "CumulativeDistributionTransform",
    "d.ExpTransform(), 1": "IndependentTransform",
    "[d.ExpTransform()]": "CatTransform ComposeTransform StackTransform",
    "(2,), (1, 2)": "ReshapeTransform",
}
_OF_DISTRIBUTIONS = "(lambda d, x: d.{})(torch.distributions, torch.tensor([0.4, 0.6]))"

# A method that several have is called on the first.
OBJECTS = (
    "torch.Size([2, 3])",
    "torch.device('cpu')",
    "torch.float32",
    "torch.tensor([1.0, 2.0, 3.0]).untyped_storage()",
    "torch.ops.aten.add.Tensor",
    "torch.ops.aten.add",
    "torch.Generator()",
    "torch.quasirandom.SobolEngine(2, scramble=True, seed=3)",
    "torch.storage.TypedStorage(wrap_storage=torch.tensor([1.0, 2.0]).untyped_storage(), dtype=torch.float32)",
    "torch.serialization.safe_globals([])",
    "torch.serialization.set_default_mmap_options(2)",
    # autograd
    "(torch.tensor([1.0, 2.0], requires_grad=True) * 2).grad_fn",
    "torch.tensor([1.0, 2.0], requires_grad=True).sin().grad_fn._raw_saved_self",
    "torch.tensor([1.0, 2.0], requires_grad=True).register_hook(torch.sin)",
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.inference_mode()",
    "torch.set_grad_enabled(True)",
    "torch.autograd.set_multithreading_enabled(True)",
    "torch.autograd.detect_anomaly()",
    "torch.autograd.set_detect_anomaly(False)",
    "torch.autograd.forward_ad.dual_level()",
    "torch.autograd.forward_ad.UnpackedDualTensor(torch.ones(2), None)",
    "torch.autograd.graph.saved_tensors_hooks(torch.sin, torch.cos)",
    "torch.autograd.graph.save_on_cpu()",
    "torch.autograd.graph.get_gradient_edge(torch.ones(2, requires_grad=True))",
    "torch.autograd.function.FunctionCtx()",
    _FUNCTION,
    # profiles
    "torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])",
    "torch.autograd.profiler.profile()",
    "torch.profiler.record_function('label')",
    "torch.autograd.profiler.EnforceUnique()",
    "torch.autograd.profiler.KinetoStepTracker()",
    "torch.autograd.profiler.MemRecordsAcc([])",
    "torch.autograd.profiler.emit_itt(enabled=False)",
    "torch.autograd.profiler.emit_nvtx(enabled=False)",
    "torch.autograd.profiler_util.EventList()",
    "torch.autograd.profiler_util.FunctionEvent(0, 'event', 0, 0, 1)",
    "torch.autograd.profiler_util.FunctionEventAvg()",
    "torch.autograd.profiler_util.Interval(0, 1)",
    "torch.autograd.profiler_util.Kernel('kernel', 0, 1)",
    # modules and optimizers
    "torch.nn.Sequential(torch.nn.Linear(3, 3))",
    "torch.nn.ModuleList([torch.nn.Linear(3, 3)])",
    "torch.nn.ModuleDict({'a': torch.nn.Linear(3, 3)})",
    "torch.nn.ParameterList([torch.ones(2)])",
    "torch.nn.ParameterDict({'a': torch.ones(2)})",
    "torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)])",
    "torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2)).parametrizations['weight']",
    "__import__('sys').modules[torch.nn.__name__ + '.utils.weight_norm'].WeightNorm('weight', 0)",
    *(
        f"(lambda m: m.{made})(__import__('sys').modules[torch.nn.__name__ + '.utils.spectral_norm'])"
        for made in (
            "SpectralNorm('weight')",
            "SpectralNormStateDictHook(m.SpectralNorm('weight'))",
            "SpectralNormLoadStateDictPreHook(m.SpectralNorm('weight'))",
        )
    ),
    *(f"(lambda d, s: d.{made})(torch.utils.data, torch.utils.data.TensorDataset(torch.ones(4, 2)))" for made in _DATA),
    *(
        _OF_DISTRIBUTIONS.format(f"{name}({given})")
        for given, names in _DISTRIBUTIONS.items()
        for name in names.split()
    ),
    "torch.distributions.constraint_registry.ConstraintRegistry()",
    "torch.distributions.constraints.MixtureSameFamilyConstraint(torch.distributions.constraints.real)",
    "torch.distributions.constraints.independent(torch.distributions.constraints.real, 1)",
    "torch.distributions.constraints.cat([torch.distributions.constraints.real])",
    "torch.distributions.constraints.stack([torch.distributions.constraints.real])",
    *(
        f"torch.distributions.constraints.{made}"
        for made in (
            *("greater_than(0)", "greater_than_eq(0)", "less_than(0)", "interval(0, 1)", "half_open_interval(0, 1)"),
            *("integer_interval(0, 1)", "multinomial(2)", "dependent", "dependent_property(torch.sin)"),
        )
    ),
    "torch.nn.Linear(3, 3)",
    "torch.nn.Embedding(3, 2)",
    "torch.nn.DataParallel(torch.nn.Linear(2, 2))",
    "torch.nn.utils.prune.PruningContainer()",
    *(
        f"torch.nn.utils.prune.{made}"
        for made in ("BasePruningMethod()", "CustomFromMask(torch.ones(2))", "Identity()", "L1Unstructured(1)")
    ),
    *(
        f"torch.nn.utils.prune.{made}"
        for made in ("LnStructured(1, 2)", "RandomStructured(1)", "RandomUnstructured(1)")
    ),
    "torch.nn.Flatten()",
    "torch.nn.Dropout()",
    "torch.nn.Identity()",
    "torch.nn.GELU()",
    "torch.nn.LeakyReLU()",
    "torch.nn.ReLU()",
    "torch.nn.Sigmoid()",
    "torch.nn.SiLU()",
    "torch.nn.Softmax(-1)",
    "torch.nn.LogSoftmax(-1)",
    "torch.nn.Tanh()",
    "torch.nn.MSELoss()",
    "torch.nn.L1Loss()",
    "torch.nn.NLLLoss()",
    "torch.nn.CrossEntropyLoss()",
    *(f"torch.nn.{name}({given})" for given, names in _MODULES.items() for name in names.split()),
    "torch.nn.Module().load_state_dict({})",
    *(f"torch.optim.{name}([torch.tensor([1.0, 2.0], requires_grad=True)])" for name in _OPTIMIZERS.split()),
    "torch.optim.Muon([torch.tensor([[1.0, 2.0]], requires_grad=True)])",
    "torch.optim.swa_utils.AveragedModel(torch.nn.Linear(2, 2))",
    f"torch.optim.swa_utils.SWALR({_OPTIMIZER}, 0.1)",
    *(
        f"torch.optim.lr_scheduler.{name}({_OPTIMIZER}{given})"
        for given, names in _SCHEDULES.items()
        for name in names.split()
    ),
    "(lambda s, o: s.SequentialLR(o, [s.ConstantLR(o), s.StepLR(o, 2)], [2]))"
    f"(torch.optim.lr_scheduler, {_OPTIMIZER})",
    f"(lambda s, o: s.ChainedScheduler([s.ConstantLR(o), s.StepLR(o, 2)]))(torch.optim.lr_scheduler, {_OPTIMIZER})",
    "torch.autocast('cpu')",
    "torch.utils._pytree.SequenceKey(0)",
    "torch.utils._pytree.MappingKey('a')",
    "torch.utils._pytree.GetAttrKey('shape')",
    "torch.amp.GradScaler('cpu')",
    # operators, traces, modes and devices
    "torch.library.Library('fuzz', 'FRAGMENT')",
    _CUSTOM_OP,
    _TRACED,
    "torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(2, 2))",
    "torch.jit.Attribute(1.5, float)",
    "torch.jit.RecursiveScriptModule()",
    f"{_TRACED}.graph",
    f"list({_TRACED}.graph.nodes())[0]",
    f"list({_TRACED}.graph.inputs())[0]",
    f"list({_TRACED}.graph.inputs())[0].type()",
    "torch.overrides.BaseTorchFunctionMode()",
    "torch.utils._python_dispatch.TorchDispatchMode()",
    "torch.utils.module_tracker.ModuleTracker()",
    "torch.utils.flop_counter.FlopCounterMode(display=False)",
    "torch.overrides.DisableTorchDispatch()",
    "torch._C.DisableTorchFunction()",
    "torch._C.DisableTorchFunctionSubclass()",
    "torch.backends.backend_of('cpu')",
    "torch.backends.backend_of('npu').streams()",
    "torch.finfo(torch.float32)",
    "torch.iinfo(torch.int8)",
    "torch.Stream('cpu')",
    "torch.Event('cpu')",
    "torch.accelerator.device_index(None)",
    "torch.compiler.set_stance('default')",
    "torch.cpu.Event()",
    "torch.cpu.Stream()",
    "torch.cpu.StreamContext(None)",
    "torch.cuda.StreamContext(None)",
    "torch.cuda.device(-1)",
    "torch.cuda.device_of(torch.ones(1))",
    "torch.nn.attention.flex_attention.create_block_mask(lambda b, h, q, k: q >= k, 1, 2, 5, 7, 'cpu', 2)",
    "torch.utils._pytree.tree_structure([1])",
    "torch.npu.Stream()",
    "torch.npu.Event()",
    "torch.npu.ExternalEvent()",
    "torch.npu.stream(torch.npu.Stream())",
    "torch.npu.device(0)",
    "torch.npu.device_of(torch.ones(1))",
    "torch.npu.get_device_properties(0)",
    "torch.npu.NPUGraph()",
    "torch.npu.graphs.WeakTensor(torch.ones(2, device='npu'))",
    "torch.npu.graph(torch.npu.NPUGraph())",
    "torch.npu.command_buffer()",
    "torch.npu.lookahead()",
    "torch.npu.plan(lambda x: x + 1, torch.ones(2))",
    "torch.npu.plan(lambda x: x + 1, torch.ones(2)).operations[0]",
    "torch.npu.lower(torch.nn.ReLU(), torch.ones(2), delegate='cpu_c')",
    "torch._core.runtime_context()",
    "torch._core.Course([])",
    "torch.npu.f32",
    "torch.npu.f32(1.0)",
    "torch.npu.Struct((('n', torch.npu.i32), ('x', torch.npu.f32)))",
)  # fmt: skip

# By the end of their paths. Errors and warnings have no methods of their own.
CLASSES_LEFT_OUT = {
    "autograd.graph.Node": "is what `isinstance` is asked for: it has no objects",
    "autograd.function.DelayedError": "is called with tensors: what it gives has no methods of its own",
    "autograd.function.InplaceFunction": "a Function, under an older name",
    "autograd.variable.Variable": "has no objects: what it makes are tensors",
    "autograd.variable.VariableMeta": "a class of classes",
    "distributions.utils.lazy_property": "a descriptor: a distribution's attributes are read",
    "cuda.amp.GradScaler": "is torch.amp's, and warns of its own name",
    "cuda.amp.autocast": "is torch.amp's, and warns of its own name",
    "cpu.amp.GradScaler": "is torch.amp's, and warns of its own name",
    "cpu.amp.autocast": "is torch.amp's, and warns of its own name",
    "futures.Future": "waits until somebody sets it: tests/runtime/test_futures.py",
    "nn.attention.bias.CausalBias": "a tensor, which `scaled_dot_product_attention` is given",
    "nn.attention.bias.CausalVariant": "an enumeration",
    "sparse.check_sparse_tensor_invariants": "a setting, which calls would leave as they made it",
    "utils._python_dispatch.BaseTorchDispatchMode": "a mode, which sees the calls of others: `TorchDispatchMode` is",
    "utils.hooks.BackwardHook": "what a module keeps around one call: hooks are registered on modules",
    "utils._pytree.ConstantNode": "a value: it has no methods",
    "utils._pytree.NodeDef": "a value: it has no methods",
    "layout": "a word, which equals its name",
    "memory_format": "a word, which equals its name",
    "Tensor": "its methods are a group of their own",
    "nn.parallel.DistributedDataParallel": "has no objects in one process: tests/distributed runs two",
    "nn.Buffer": "has a tensor's methods",
    "nn.Parameter": "has a tensor's methods",
    "nn.UninitializedBuffer": "has a tensor's methods, which it refuses",
    "nn.UninitializedParameter": "has a tensor's methods, which it refuses",
    "nn.parameter.UninitializedTensorMixin": "marks tensors without a shape: it has no methods",
    "utils.checkpoint.CheckpointPolicy": "a word: it has no methods",
    "utils.checkpoint.SelectiveCheckpointContext": "a value: it has no methods",
    "utils.checkpoint.CheckpointFunction": "a function's parts: `checkpoint` is called",
    "SymBool": "has no objects: every size is known",
    "SymFloat": "has no objects: every size is known",
    "SymInt": "has no objects: every size is known",
    "cuda.CUDAGraph": "has no objects: there are no such devices",
    "cuda.Event": "has no objects: there are no such devices",
    "cuda.Stream": "has no objects: there are no such devices",
    "cuda.graph": "has no objects: there are no such devices",
    "torch_version.TorchVersion": "a string that compares as a version",
    "Tag": "an enumeration: its members are strings",
    "amp.grad_scaler.OptState": "an enumeration",
    "nn.attention.SDPBackend": "an enumeration",
    "nn.attention.flex_attention.AuxOutput": "a tuple with names",
    "nn.attention.flex_attention.AuxRequest": "a tuple with names",
    "utils.dlpack.DLDeviceType": "an enumeration",
    "backends.Copies": "three functions",
    "backends.Memory": "two functions",
    "jit.ScriptFunction": "there are none",
    "jit.ScriptMethod": "there are none",
    "jit.TracingState": "there is one while a function is traced: `jit.trace` is called",
    "library.definitions.Definition": "there is one while an operator is defined: `Library.define` is called",
    "library.definitions.OperatorBuilder": "there is one while an operator is defined",
    "npu.DevicePointer": "is an address",
    "npu.Kernel": "calls compiled code, whose arguments it is told",
    "npu.KernelLauncher": "calls compiled code, whose arguments it is told",
    "npu.KernelProfile": "is measured of a kernel that runs",
    "npu.graph_records.Payload": "the values of one update: `NPUGraph` is called",
    "npu.BackendInitContext": "what `npu.lower` tells a delegate",
    "npu.Delegate": "to derive from: `npu.lower` calls those there are",
    "npu.cpu_delegate.CpuDelegate": "what `npu.lower` calls",
    "npu.graph_delegate.GraphDelegate": "what `npu.lower` calls",
    "npu.tracing.Call": "a part of what `npu.plan` is made of",
    "npu.tracing.Trace": "what `npu.plan` is made of",
    "npu.graph_update.Updates": "what a graph is replayed with: `NPUGraph` is called",
    "npu.kernel_profile.CoreProfile": "a part of `npu.KernelProfile`",
    "npu.kernel_profile.Interval": "a part of `npu.KernelProfile`",
    "npu.kernel_profile.PipeProfile": "a part of `npu.KernelProfile`",
    "npu.timeline.Timeline": "there is one, which profilers ask",
    "npu.timeline_profile.profile": "writes a file",
    "serialization.LoadEndianness": "an enumeration",
    "profiler.DeviceType": "an enumeration",
    "profiler.ProfilerAction": "an enumeration",
    "profiler.ProfilerActivity": "an enumeration",
    "npu.graphs.DispatchRecord": "a call that was captured, which handlers are given",
    "npu.graphs.NpuGraphOpHandler": "its methods are hooks, of a class that is derived from it",
    "npu.recording.PinnedBytes": "bytes, and their address",
    "npu.recording.kept_in": "what is kept while something is recorded: `NPUGraph` is called",
    "npu.ExternalStream": "takes a stream's address",
}


def class_of(maker: str, torch: Any) -> type:
    """The class of what an expression of ``OBJECTS`` makes; some warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return type(eval(maker, {"torch": torch}))
