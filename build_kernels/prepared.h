/* Calls of kernels: once, and prepared, with arguments that are taken apart once for many calls. To take a NumPy array apart
   costs some 0.1 us, and a kernel that learns one row has twenty of them. */

typedef struct {
    const char *name, *method; /* of the kernel, and of its function in the module */
    const char *const *forms;
    Py_ssize_t arguments, leaves;
    int (*find)(const char *kinds);               /* the number of the signature for arrays of these kinds, -1 if there is none */
    PyObject *(*run)(int signature, Argument *a);
} Kernel;

/* The number of the signature for these arguments, which `first` holds then; -1 with an error set. */
static int take_for(const Kernel *kernel, PyObject *const *objects, Py_ssize_t given, Argument *first, Argument **end, char *kinds) {
    if (!take_all(kernel->name, objects, given, kernel->forms, kernel->arguments, first, end, kinds)) return -1;
    int signature = kernel->find(kinds);
    if (signature >= 0) return signature;
    release(first, *end);
    PyErr_Format(PyExc_SystemError, "the kernel %s is not compiled for arrays of the kinds %s", kernel->name, kinds);
    return -1;
}

static PyObject *call_once(const Kernel *kernel, PyObject *const *objects, Py_ssize_t given, Argument *first, char *kinds) {
    Argument *end;
    int signature = take_for(kernel, objects, given, first, &end, kinds);
    if (signature < 0) return NULL;
    PyObject *result = kernel->run(signature, first);
    release(first, end);
    return result;
}

/* A function of Python whose `self` is a capsule of C's own, which ends with it what it owns. */
static PyObject *bound(PyMethodDef *method, void *own, void (*end)(PyObject *)) {
    PyObject *capsule = PyCapsule_New(own, NULL, end);
    if (!capsule) return NULL; /* for want of memory: what it would have owned is lost */
    PyObject *function = PyCFunction_New(method, capsule);
    Py_DECREF(capsule);
    return function;
}

typedef struct {
    const Kernel *kernel;
    int signature;
    Argument *end, first[];
} Prepared;

static void end_prepared(PyObject *capsule) {
    Prepared *own = PyCapsule_GetPointer(capsule, NULL);
    release(own->first, own->end);
    free(own);
}

static PyObject *run_prepared(PyObject *capsule, PyObject *nothing) {
    Prepared *own = PyCapsule_GetPointer(capsule, NULL);
    return own ? own->kernel->run(own->signature, own->first) : NULL;
}

static PyMethodDef prepared_call = {"prepared", run_prepared, METH_NOARGS, "A kernel with its arguments: `prepare` of massart/kernels/compiling.py."};

/* A function without arguments that calls a kernel with these. It keeps the arrays, as they lie in memory. */
static PyObject *prepare_call(const Kernel *kernel, PyObject *const *objects, Py_ssize_t given) {
    Prepared *own = malloc(sizeof(Prepared) + (size_t) (kernel->leaves + 1) * sizeof(Argument));
    char *kinds = malloc((size_t) (2 * kernel->leaves + 1));
    int signature = -1;
    if (!own || !kinds) PyErr_NoMemory();
    else signature = take_for(kernel, objects, given, own->first, &own->end, kinds);
    free(kinds);
    if (signature < 0) { free(own); return NULL; }
    own->kernel = kernel;
    own->signature = signature;
    return bound(&prepared_call, own, end_prepared);
}
