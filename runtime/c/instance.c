/* Instances: one caller's buffers and workspace for a function, and its runs. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64 /* of workspaces */
#define TYPE_BYTES 400

struct inarch_instance {
    inarch_module *module;
    const inarch_function *function;
    int32_t entry;
    void *own_workspace; /* NULL where it is the caller's */
    inarch_state *own_state; /* of its own weights; NULL: the module's state */
    inarch_call call;
    DLTensor *args; /* as the ports; behind this */
};

static inarch_request request_of(int64_t bytes)
{
    const inarch_request request = {sizeof(request), INARCH_FOR_WORKSPACE, bytes, ALIGNMENT, {INARCH_CPU, 0}};
    return request;
}

static void *allocate(const inarch_module *module, int64_t bytes)
{
    const inarch_allocator *allocator = &module->setup.allocator;
    if (allocator->allocate == NULL) {
        return aligned_alloc(ALIGNMENT, ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    }
    const inarch_request request = request_of(bytes);
    return allocator->allocate(allocator->self, &request);
}

static void give_workspace(const inarch_instance *instance)
{
    const inarch_allocator *allocator = &instance->module->setup.allocator;
    if (allocator->allocate == NULL) {
        free(instance->own_workspace);
    } else if (instance->own_workspace != NULL) {
        const inarch_request request = request_of(instance->function->workspace_bytes);
        allocator->release(allocator->self, instance->own_workspace, &request);
    }
}

static int32_t take_workspace(inarch_instance *instance, void *workspace, size_t bytes)
{
    const inarch_function *function = instance->function;
    const size_t wanted = (size_t)function->workspace_bytes;
    const char *where = instance->module->where;
    if (workspace == NULL) {
        if (wanted > 0) {
            instance->own_workspace = allocate(instance->module, function->workspace_bytes);
            if (instance->own_workspace == NULL) {
                return inarch_rt_fail(INARCH_NO_MEMORY,
                                      "%s: error: %s: no memory for a workspace of %zu bytes", where,
                                      function->name, wanted);
            }
        }
        instance->call.workspace = instance->own_workspace;
        instance->call.workspace_bytes = function->workspace_bytes;
        return INARCH_OK;
    }
    if (bytes < wanted) {
        return inarch_rt_fail(INARCH_ARGUMENT,
                              "%s: error: %s: workspace: expected at least %zu bytes, found %zu", where,
                              function->name, wanted, bytes);
    }
    if ((uintptr_t)workspace % ALIGNMENT != 0) {
        return inarch_rt_fail(
            INARCH_ARGUMENT,
            "%s: error: %s: workspace: expected an address that is a multiple of %d, found one that "
            "is not",
            where, function->name, ALIGNMENT);
    }
    instance->call.workspace = workspace;
    instance->call.workspace_bytes = (int64_t)bytes;
    return INARCH_OK;
}

int32_t inarch_instance_new(inarch_module *module, const char *name, void *workspace, size_t workspace_bytes,
                            inarch_instance **instance)
{
    if (module == NULL || instance == NULL) {
        return inarch_rt_null("inarch_instance_new", module == NULL ? "a module" : "a place for the instance");
    }
    *instance = NULL;
    const inarch_function *function = inarch_function_named(module, name);
    if (function == NULL) {
        return INARCH_NAME;
    }
    const size_t ports = (size_t)function->inputs + (size_t)function->outputs;
    inarch_instance *made = (inarch_instance *)calloc(1, sizeof(*made) + ports * sizeof(DLTensor));
    if (made == NULL) {
        return inarch_rt_fail(INARCH_NO_MEMORY, "%s: error: no memory for an instance", module->where);
    }
    made->module = module;
    made->function = function;
    made->entry = inarch_rt_find_entry(&module->library, function->name);
    made->call.size = sizeof(made->call);
    made->call.flags = INARCH_TRUSTED;
    made->args = (DLTensor *)(void *)(made + 1);
    for (size_t i = 0; i < ports; i++) {
        const inarch_port *port = &function->ports[i];
        DLTensor *tensor = &made->args[i];
        tensor->device.device_type = INARCH_CPU;
        tensor->ndim = port->rank;
        tensor->dtype.code = (uint8_t)(port->dtype >> 8);
        tensor->dtype.bits = (uint8_t)(port->dtype & 0xff);
        tensor->dtype.lanes = 1;
        tensor->shape = (int64_t *)(uintptr_t)port->shape;
    }
    const int32_t status = take_workspace(made, workspace, workspace_bytes);
    if (status != INARCH_OK) {
        free(made);
        return status;
    }
    inarch_rt_retain(module);
    *instance = made;
    return INARCH_OK;
}

void inarch_instance_free(inarch_instance *instance)
{
    if (instance == NULL) {
        return;
    }
    instance->module->library.table->state_free(instance->own_state);
    give_workspace(instance);
    inarch_close(instance->module);
    free(instance);
}

static const char *kind_of(const inarch_function *function, int32_t port)
{
    return port < function->inputs ? "input" : "output";
}

static int32_t bind_port(inarch_instance *instance, const char *name, const void *data, size_t bytes,
                         int32_t first, int32_t count)
{
    const inarch_function *function = instance->function;
    const char *where = instance->module->where, *kind = first == 0 ? "input" : "output";
    int32_t found = first;
    while (found < first + count && strcmp(function->ports[found].name, name) != 0) {
        found++;
    }
    if (found == first + count) {
        return inarch_rt_fail(INARCH_NAME, "%s: error: %s: no %s '%s'; %s%s%s", where, function->name, kind,
                              name, count == 0 ? "there is none" : "the first is '",
                              count == 0 ? "" : function->ports[first].name, count == 0 ? "" : "'");
    }
    const inarch_port *port = &function->ports[found];
    char type[TYPE_BYTES];
    inarch_port_type(port, type, sizeof(type));
    if (data == NULL && port->bytes > 0) {
        return inarch_rt_fail(INARCH_ARGUMENT,
                              "%s: error: %s: %s '%s': expected memory for %s, found a null pointer", where,
                              function->name, kind, port->name, type);
    }
    if (bytes < (size_t)port->bytes) {
        return inarch_rt_fail(INARCH_ARGUMENT,
                              "%s: error: %s: %s '%s': expected %lld bytes for %s, found %zu", where,
                              function->name, kind, port->name, (long long)port->bytes, type, bytes);
    }
    const int32_t size = inarch_rt_dtype_bytes(port->dtype);
    if (port->bytes > 0 && (uintptr_t)data % (uintptr_t)size != 0) {
        return inarch_rt_fail(
            INARCH_ARGUMENT,
            "%s: error: %s: %s '%s': expected an address that is a multiple of %d, found one that is "
            "not",
            where, function->name, kind, port->name, (int)size);
    }
    instance->args[found].data = (void *)(uintptr_t)data;
    return INARCH_OK;
}

int32_t inarch_bind_input(inarch_instance *instance, const char *name, const void *data, size_t bytes)
{
    if (instance == NULL || name == NULL) {
        return inarch_rt_null("inarch_bind_input", instance == NULL ? "an instance" : "a name");
    }
    return bind_port(instance, name, data, bytes, 0, instance->function->inputs);
}

int32_t inarch_bind_output(inarch_instance *instance, const char *name, void *data, size_t bytes)
{
    if (instance == NULL || name == NULL) {
        return inarch_rt_null("inarch_bind_output", instance == NULL ? "an instance" : "a name");
    }
    return bind_port(instance, name, data, bytes, instance->function->inputs, instance->function->outputs);
}

int32_t inarch_set_threads(inarch_instance *instance, int32_t threads)
{
    if (instance == NULL) {
        return inarch_rt_null("inarch_set_threads", "an instance");
    }
    if (threads < 0) {
        return inarch_rt_fail(INARCH_THREADS, "%s: error: expected a number of threads from 0 on, found %d",
                              instance->module->where, (int)threads);
    }
    instance->call.threads = threads;
    return INARCH_OK;
}

static inarch_state *state_of(const inarch_instance *instance)
{
    return instance->own_state != NULL ? instance->own_state : instance->module->state;
}

/* Tells what the library says. */
static int32_t fail(const inarch_instance *instance, int32_t status)
{
    /* It begins with the function's name, or does not. */
    const char *said = instance->module->library.table->last_error(), *name = instance->function->name;
    const size_t length = strlen(name);
    if (strncmp(said, name, length) == 0 && strncmp(said + length, ": ", 2) == 0) {
        said += length + 2;
    }
    return inarch_rt_fail(status, "%s: error: %s: %s", instance->module->where, name, said);
}

int32_t inarch_instance_set_weights(inarch_instance *instance, const inarch_weights *weights)
{
    if (instance == NULL) {
        return inarch_rt_null("inarch_instance_set_weights", "an instance");
    }
    const inarch_module *module = instance->module;
    const inarch_library *library = module->library.table;
    if (weights == NULL) {
        library->state_free(instance->own_state);
        instance->own_state = NULL;
        return INARCH_OK;
    }
    if (instance->own_state != NULL) {
        const int32_t status = library->set_weights(instance->own_state, weights);
        return status == INARCH_OK ? status : fail(instance, status);
    }
    inarch_setup setup = module->setup;
    setup.weights = *weights;
    return inarch_rt_new_state(module->where, &module->library, &setup, &instance->own_state);
}

int32_t inarch_set_stream(inarch_instance *instance, int32_t device_type, int32_t device_id, void *stream)
{
    if (instance == NULL) {
        return inarch_rt_null("inarch_set_stream", "an instance");
    }
    const inarch_library *library = instance->module->library.table;
    const int32_t status = library->set_stream(state_of(instance), device_type, device_id, stream);
    return status == INARCH_OK ? status : fail(instance, status);
}

static int32_t check_overlaps(const inarch_instance *instance, int32_t output)
{
    const inarch_function *function = instance->function;
    const inarch_port *ports = function->ports;
    const uintptr_t begin = (uintptr_t)instance->args[output].data;
    for (int32_t i = 0; i < output; i++) {
        const uintptr_t other = (uintptr_t)instance->args[i].data;
        if (ports[output].bytes > 0 && ports[i].bytes > 0 && begin < other + (uintptr_t)ports[i].bytes
            && other < begin + (uintptr_t)ports[output].bytes) {
            return inarch_rt_fail(
                INARCH_ARGUMENT,
                "%s: error: %s: output '%s': expected memory of its own, found that of %s '%s'",
                instance->module->where, function->name, ports[output].name, kind_of(function, i),
                ports[i].name);
        }
    }
    return INARCH_OK;
}

/* Compiled code computes with bits. */
static int32_t check_bools(const inarch_instance *instance, int32_t input)
{
    const inarch_port *port = &instance->function->ports[input];
    const unsigned char *bytes = (const unsigned char *)instance->args[input].data;
    unsigned char every = 0;
    for (int64_t i = 0; i < port->bytes; i++) {
        every |= bytes[i];
    }
    if (every <= 1) {
        return INARCH_OK;
    }
    int64_t at = 0;
    while (bytes[at] <= 1) {
        at++;
    }
    return inarch_rt_fail(INARCH_ARGUMENT,
                          "%s: error: %s: input '%s': expected bools of 0 or 1, found a byte of %d",
                          instance->module->where, instance->function->name, port->name, (int)bytes[at]);
}

int32_t inarch_run(const inarch_instance *instance)
{
    if (instance == NULL) {
        return inarch_rt_null("inarch_run", "an instance");
    }
    const inarch_function *function = instance->function;
    const inarch_library *library = instance->module->library.table;
    const int32_t ports = function->inputs + function->outputs;
    for (int32_t i = 0; i < ports; i++) {
        if (instance->args[i].data == NULL && function->ports[i].bytes > 0) {
            return inarch_rt_fail(
                INARCH_UNBOUND,
                "%s: error: %s: %s '%s' is not bound; bind every input and output before a run",
                instance->module->where, function->name, kind_of(function, i), function->ports[i].name);
        }
        int32_t status = INARCH_OK;
        if (i >= function->inputs) {
            status = check_overlaps(instance, i);
        } else if (function->ports[i].dtype == INARCH_I1) {
            status = check_bools(instance, i);
        }
        if (status != INARCH_OK) {
            return status;
        }
    }
    const int32_t status = library->run(state_of(instance), instance->entry, instance->args, ports, &instance->call);
    return status == INARCH_OK ? status : fail(instance, status);
}
