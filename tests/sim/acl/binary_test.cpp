// Kernel libraries: loading them, argument lists, and launches by both.
#include <cstring>
#include <numeric>

#include "graph.hpp"

static aclrtBinHandle load() {
    aclrtBinHandle binary = nullptr;
    CHECK_OK(aclrtBinaryLoadFromFile(KERNEL_LIBRARY, nullptr, &binary));
    return binary;
}

static aclrtFuncHandle kernel(const char* name, aclrtBinHandle binary = load()) {
    aclrtFuncHandle function = nullptr;
    CHECK_OK(aclrtBinaryGetFunction(binary, name, &function));
    return function;
}

static aclrtArgsHandle make_list(aclrtFuncHandle function) {
    aclrtArgsHandle list = nullptr;
    CHECK_OK(aclrtKernelArgsInit(function, &list));
    return list;
}

template <class T>
static aclrtParamHandle append(aclrtArgsHandle list, T value) {
    aclrtParamHandle parameter = nullptr;
    CHECK_OK(aclrtKernelArgsAppend(list, &value, sizeof value, &parameter));
    return parameter;
}

static void launch(aclrtFuncHandle function, aclrtArgsHandle list, uint32_t blocks = 1) {
    CHECK_OK(aclrtKernelArgsFinalize(list));
    CHECK_OK(aclrtLaunchKernelWithConfig(function, blocks, nullptr, nullptr, list, nullptr));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
}

struct Tiling {
    int32_t length;
    double scale;
    uint8_t tail[8];
};

TEST(arguments_of_every_type_arrive) {
    const aclrtFuncHandle function = kernel("every_type");
    const aclrtArgsHandle list = make_list(function);
    double* out = upload(std::vector<double>(16));
    append(list, out);
    append(list, 1.5f);
    append(list, -2.25);
    append(list, uint16_t{0x4240});  // 16-bit floats are passed as their bits
    append(list, uint16_t{0xC0A0});
    append(list, true);
    append(list, int8_t{-6});
    append(list, int16_t{-700});
    append(list, int32_t{-80000});
    append(list, -9 * (int64_t{1} << 40));
    append(list, uint8_t{250});
    append(list, uint16_t{60000});
    append(list, uint32_t{4000000000});
    append(list, uint64_t{1} << 52);
    append(list, Tiling{-13, 0.5, {0, 0, 0, 0, 0, 0, 0, 14}});
    launch(function, list);
    const std::vector<double> expected{1.5, -2.25, 0x4240, 0xC0A0, 1, -6, -700, -80000, -9.0 * (int64_t{1} << 40), 250,
                                       60000, 4000000000, double(uint64_t{1} << 52), -13, 0.5, 14};
    CHECK_EQ(download(out, 16) == expected, true);
}

TEST(more_arguments_than_registers_arrive_in_order) {
    const aclrtFuncHandle function = kernel("many");
    const aclrtArgsHandle list = make_list(function);
    double* out = upload(std::vector<double>(18));
    append(list, out);
    for (int i = 1; i <= 18; ++i) {
        if (i <= 9 || i == 16) {
            append(list, static_cast<float>(i));
        } else if (i == 18) {
            append(list, 18.0);
        } else {
            append(list, -i);
        }
    }
    launch(function, list);
    const std::vector<double> expected{1, 2, 3, 4, 5, 6, 7, 8, 9, -10, -11, -12, -13, -14, -15, 16, -17, 18};
    CHECK_EQ(download(out, 18) == expected, true);
}

TEST(a_final_list_is_launched_again_with_other_values) {
    const aclrtFuncHandle function = kernel("sum");
    const aclrtArgsHandle list = make_list(function);
    int64_t* out = upload(std::vector<int64_t>(3));
    int64_t* data = upload(std::vector<int64_t>{1, 20, 300});
    append(list, out);
    append(list, data);
    const aclrtParamHandle count = append(list, uint32_t{2});
    launch(function, list, 3);
    CHECK_EQ(download(out, 3) == std::vector<int64_t>(3, 63), true);
    uint32_t three = 3;
    CHECK_OK(aclrtKernelArgsParaUpdate(list, count, &three, sizeof three));
    launch(function, list, 1);
    CHECK_EQ(download(out, 3) == std::vector<int64_t>({321, 63, 63}), true);
}

TEST(a_placeholder_brings_its_data_along) {
    const aclrtFuncHandle function = kernel("sum");
    const aclrtArgsHandle list = make_list(function);
    int64_t* out = upload(std::vector<int64_t>(1));
    aclrtParamHandle place = nullptr;
    void* buffer = nullptr;
    std::size_t before = 0, after = 0, total = 0;
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
    append(list, out);
    CHECK_OK(aclrtKernelArgsAppendPlaceHolder(list, &place));
    CHECK_OK(aclrtKernelArgsGetPlaceHolderBuffer(list, place, 3 * sizeof(int64_t), &buffer));
    append(list, uint32_t{3});
    const int64_t values[] = {4, 50, 600};
    std::memcpy(buffer, values, sizeof values);
    CHECK_OK(aclrtKernelArgsFinalize(list));
    const aclrtStream stream = make_stream();
    begin(stream);
    CHECK_OK(aclrtLaunchKernelWithConfig(function, 1, stream, nullptr, list, nullptr));
    const aclmdlRI model = end(stream);
    static_cast<int64_t*>(buffer)[0] = 7;
    launch(function, list);
    CHECK_EQ(download(out, 1)[0], 657);
    for (int i = 0; i < 2; ++i) {  // the graph has its own copy, run after run
        run(model, stream);
        CHECK_EQ(download(out, 1)[0], 654);
    }
    CHECK_OK(aclmdlRIDestroy(model));
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
    CHECK_EQ(after, before);
}

TEST(a_buffer_of_host_arguments_is_laid_out_as_the_header_says) {
    struct Buffer {
        int64_t* out;
        int64_t* data;
        uint32_t count;
        uint32_t unused;
        int64_t values[2];
    } buffer{upload(std::vector<int64_t>(1)), nullptr, 2, 0, {5, 60}};
    const aclrtFuncHandle function = kernel("sum");
    aclrtPlaceHolderInfo place{offsetof(Buffer, data), offsetof(Buffer, values)};
    CHECK_OK(aclrtLaunchKernelWithHostArgs(function, 1, nullptr, nullptr, &buffer, sizeof buffer, &place, 1));
    std::memset(buffer.values, 0, sizeof buffer.values);  // copied at launch
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    CHECK_EQ(download(buffer.out, 1)[0], 65);
    buffer.data = upload(std::vector<int64_t>{1, 2});
    CHECK_OK(aclrtLaunchKernelWithHostArgs(function, 1, nullptr, nullptr, &buffer, 20, nullptr, 0));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    CHECK_EQ(download(buffer.out, 1)[0], 3);
    CHECK_FAILS(aclrtLaunchKernelWithHostArgs(function, 1, nullptr, nullptr, &buffer, 16, nullptr, 0), 107000,
                "aclrtLaunchKernelWithHostArgs: kernel sum: argument argsSize: expected 20, got 16");
    CHECK_EQ(aclrtLaunchKernelWithHostArgs(function, 1, nullptr, nullptr, &buffer, 28, nullptr, 0), 107000);
    place.addrOffset = offsetof(Buffer, count);
    CHECK_FAILS(aclrtLaunchKernelWithHostArgs(function, 1, nullptr, nullptr, &buffer, sizeof buffer, &place, 1), 107000,
                "aclrtLaunchKernelWithHostArgs: kernel sum: placeholder 0: expected the offset of a pointer and one "
                "below 40, got 16 and 24");
    CHECK_OK(aclrtLaunchKernelWithHostArgs(kernel("no_arguments"), 1, nullptr, nullptr, nullptr, 0, nullptr, 0));
}

TEST(arguments_of_four_bytes_follow_each_other_in_a_buffer) {
    struct Buffer {
        double* out;
        float floats[9];
        int32_t integers[6];
        float p;
        int32_t q;
        double r;
    } buffer{upload(std::vector<double>(18)), {1, 2, 3, 4, 5, 6, 7, 8, 9}, {10, 11, 12, 13, 14, 15}, 16, 17, 18};
    CHECK_OK(aclrtLaunchKernelWithHostArgs(kernel("many"), 1, nullptr, nullptr, &buffer, sizeof buffer, nullptr, 0));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    std::vector<double> expected(18);
    std::iota(expected.begin(), expected.end(), 1);
    CHECK_EQ(download(buffer.out, 18) == expected, true);
}

TEST(wrong_libraries_and_kernels_are_refused) {
    aclrtBinHandle binary = nullptr;
    aclrtFuncHandle function = nullptr;
    CHECK_FAILS(aclrtBinaryLoadFromFile("/nowhere/kernels.so", nullptr, &binary), 107000,
                "aclrtBinaryLoadFromFile: argument binPath: expected a kernel library built for the simulated NPU, got "
                "\"/nowhere/kernels.so\": /nowhere/kernels.so: cannot open shared object file: No such file or "
                "directory");
    binary = load();
    const std::string library = KERNEL_LIBRARY;
    CHECK_FAILS(aclrtBinaryGetFunction(binary, "missing", &function), 107000,
                "aclrtBinaryGetFunction: argument kernelName: expected a kernel of " + library +
                    ", got \"missing\": the library does not export aclrtlaunch_missing");
    CHECK_FAILS(aclrtBinaryGetFunction(binary, "without_signature", &function), 107000,
                "aclrtBinaryGetFunction: argument kernelName: expected a kernel of " + library +
                    ", got \"without_signature\": the library does not export mtsim_signature_without_signature");
    CHECK_FAILS(aclrtBinaryGetFunction(binary, "odd", &function), 107000,
                "aclrtBinaryGetFunction: kernel odd of " + library + ": cannot call a signature like \"ptr,complex\"");
    CHECK_OK(aclrtBinaryGetFunction(binary, "sum", &function));
    const aclrtArgsHandle list = make_list(function);
    CHECK_OK(aclrtBinaryUnLoad(binary));
    CHECK_EQ(aclrtBinaryUnLoad(binary), 107000);
    aclrtArgsHandle other = nullptr;
    CHECK_FAILS(aclrtKernelArgsInit(function, &other), 107000,
                text("aclrtKernelArgsInit: argument funcHandle: expected a live function, got the function %p, which "
                     "was destroyed", function));
    CHECK_EQ(aclrtKernelArgsFinalize(list), 107000);
}

TEST(wrong_arguments_are_refused) {
    const aclrtFuncHandle function = kernel("sum"), other = kernel("no_arguments");
    const aclrtArgsHandle list = make_list(function);
    int64_t* out = upload(std::vector<int64_t>(1));
    uint32_t count = 1;
    aclrtParamHandle parameter = nullptr;
    void* buffer = nullptr;
    const std::string append_name = "aclrtKernelArgsAppend: kernel sum: ";
    CHECK_FAILS(aclrtKernelArgsAppend(list, &count, sizeof count, &parameter), 107000,
                append_name + "argument 0: expected ptr, 8 bytes, got 4 bytes");
    append(list, out);
    const aclrtParamHandle data = append(list, out);
    CHECK_FAILS(aclrtKernelArgsAppendPlaceHolder(list, &parameter), 107000,
                "aclrtKernelArgsAppendPlaceHolder: kernel sum: argument 2: expected u32, got a placeholder, which is "
                "an address");
    CHECK_FAILS(aclrtKernelArgsFinalize(list), 107000,
                "aclrtKernelArgsFinalize: kernel sum: expected 3 arguments, got 2");
    CHECK_FAILS(aclrtLaunchKernelWithConfig(function, 1, nullptr, nullptr, list, nullptr), 107000,
                "aclrtLaunchKernelWithConfig: kernel sum: argument argsHandle: expected a final argument list of this "
                "kernel, got one before aclrtKernelArgsFinalize");
    append(list, count);
    CHECK_FAILS(aclrtKernelArgsAppend(list, &count, sizeof count, &parameter), 107000,
                append_name + "expected 3 arguments, got one more");
    CHECK_FAILS(aclrtKernelArgsGetPlaceHolderBuffer(list, data, 8, &buffer), 107000,
                text("aclrtKernelArgsGetPlaceHolderBuffer: argument paramHandle: expected a placeholder of this "
                     "argument list, got %p", data));
    CHECK_OK(aclrtKernelArgsFinalize(list));
    CHECK_FAILS(aclrtKernelArgsAppend(list, &count, sizeof count, &parameter), 107000,
                append_name + "expected an argument list that is not final, got one that is");
    CHECK_EQ(aclrtLaunchKernelWithConfig(function, 1, nullptr, nullptr, list, &count), 107000);
    CHECK_FAILS(aclrtLaunchKernelWithConfig(other, 1, nullptr, nullptr, list, nullptr), 107000,
                "aclrtLaunchKernelWithConfig: kernel no_arguments: argument argsHandle: expected a final argument list "
                "of this kernel, got one of another");
    CHECK_FAILS(aclrtLaunchKernelWithConfig(function, 0, nullptr, nullptr, list, nullptr), 107000,
                "mtsim_launch: kernel sum: argument block_dim: expected 1 to 65535, got 0");
    void* host = &count;
    CHECK_OK(aclrtKernelArgsParaUpdate(list, data, &host, sizeof host));
    CHECK_FAILS(aclrtLaunchKernelWithConfig(function, 1, nullptr, nullptr, list, nullptr), 107000,
                text("sum: argument 1: expected memory of device 0, got %p, which is host memory", host));
    CHECK_FAILS(aclrtKernelArgsParaUpdate(list, data, &host, 4), 107000,
                "aclrtKernelArgsParaUpdate: kernel sum: argument 1: expected ptr, 8 bytes, got 4 bytes");
}

TEST(a_placeholder_needs_its_buffer_once) {
    const aclrtArgsHandle list = make_list(kernel("sum"));
    aclrtParamHandle first = nullptr, second = nullptr;
    void* buffer = nullptr;
    CHECK_OK(aclrtKernelArgsAppendPlaceHolder(list, &first));
    CHECK_OK(aclrtKernelArgsAppendPlaceHolder(list, &second));
    append(list, uint32_t{1});
    CHECK_FAILS(aclrtKernelArgsGetPlaceHolderBuffer(list, first, 0, &buffer), 107000,
                "aclrtKernelArgsGetPlaceHolderBuffer: argument dataSize: expected at least 1 byte, got 0");
    CHECK_OK(aclrtKernelArgsGetPlaceHolderBuffer(list, first, 8, &buffer));
    CHECK_FAILS(aclrtKernelArgsGetPlaceHolderBuffer(list, first, 8, &buffer), 107000,
                "aclrtKernelArgsGetPlaceHolderBuffer: argument paramHandle: expected a placeholder without a buffer, "
                "got one that has it");
    CHECK_FAILS(aclrtKernelArgsFinalize(list), 107000,
                "aclrtKernelArgsFinalize: kernel sum: argument 1: expected a placeholder with a buffer, got one "
                "without");
    uint64_t value = 0;
    CHECK_EQ(aclrtKernelArgsParaUpdate(list, first, &value, sizeof value), 107000);
}
