/* What compiled kernels need besides the C library: memory blocks as Numba's, and NumPy arrays taken apart into
   arguments. Only Python's stable interface is used, so one build serves all versions of Python from 3.11 on. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- Memory of arrays that a kernel makes. The layout is that of numba/core/runtime/nrt.cpp. */

typedef struct {
    size_t references;
    void (*dtor)(void *, size_t, void *);
    void *dtor_info, *data;
    size_t size;
    void *external;
} MemInfo;

void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    if (align == 0) align = 1;
    if (size > PTRDIFF_MAX - sizeof(MemInfo) - align) return NULL;
    char *block = malloc(sizeof(MemInfo) + size + align);
    if (!block) return NULL;
    MemInfo *info = (MemInfo *) block;
    uintptr_t first = (uintptr_t) (block + sizeof(MemInfo));
    *info = (MemInfo) {1, NULL, NULL, (void *) ((first + align - 1) / align * align), size, NULL};
    return info;
}

/* The stack of np.argsort: a list of numbers that never grows, so there is nothing to take apart at its end. */
void *NRT_MemInfo_new_varsize_dtor(size_t size, void (*dtor)(void *, size_t, void *)) {
    (void) dtor;
    return NRT_MemInfo_alloc_aligned(size, 16);
}

/* Called when a kernel gives up its last reference. */
void NRT_MemInfo_call_dtor(void *info) { free(info); }

/* Whether an array can be seen in another shape; kernels do that with contiguous arrays only. */
int numba_attempt_nocopy_reshape(int64_t dimensions, const int64_t *shape, const int64_t *strides, int64_t new_dimensions,
                                 const int64_t *new_shape, int64_t *new_strides, int64_t item, int fortran) {
    int64_t step = item;
    for (int64_t k = dimensions; k-- > 0; step *= shape[k])
        if (shape[k] != 1 && strides[k] != step) return 0;
    step = item;
    for (int64_t k = new_dimensions; k-- > 0; step *= new_shape[k]) new_strides[k] = step;
    return !fortran;
}

/* --- Results */

typedef struct { MemInfo *info; void *parent; int64_t count, item; char *data; int64_t shape[1], strides[1]; } Made;

/* An array that a kernel made, as one of NumPy's: the numbers are copied, the block is given back. */
static PyObject *array_of(Made *made, const char *dtype) {
    PyObject *bytes = PyByteArray_FromStringAndSize(made->data, made->count * made->item);
    if (made->info && --made->info->references == 0) free(made->info);
    PyObject *numpy = bytes ? PyImport_ImportModule("numpy") : NULL;
    PyObject *array = numpy ? PyObject_CallMethod(numpy, "frombuffer", "Os", bytes, dtype) : NULL;
    Py_XDECREF(numpy);
    Py_XDECREF(bytes);
    return array;
}

/* The error of a kernel that did not end well: besides want of memory, there is none that checked arguments lead to. */
static PyObject *failed(const char *kernel, int status) {
    return PyErr_Format(PyExc_MemoryError, "the kernel %s could not run (status %d): there may be too little memory", kernel, status);
}

/* --- Arguments. A form is one character per argument: 1 2 3 an array of so many dimensions, d a float64, t a truth value,
   q Q i I b B whole numbers (NumPy's letters), ( ) a tuple. */

typedef struct {
    union { double real; int64_t whole; };
    Py_buffer view; /* of an array; without an object otherwise */
} Argument;

#define ARRAY(k) NULL, NULL, (a[k].view.len / a[k].view.itemsize), (int64_t) a[k].view.itemsize, (char *) a[k].view.buf
#define AS1(k) ARRAY(k), (int64_t) a[k].view.shape[0], (int64_t) a[k].view.strides[0]
#define AS2(k) ARRAY(k), (int64_t) a[k].view.shape[0], (int64_t) a[k].view.shape[1], \
    (int64_t) a[k].view.strides[0], (int64_t) a[k].view.strides[1]
#define AS3(k) ARRAY(k), (int64_t) a[k].view.shape[0], (int64_t) a[k].view.shape[1], (int64_t) a[k].view.shape[2], \
    (int64_t) a[k].view.strides[0], (int64_t) a[k].view.strides[1], (int64_t) a[k].view.strides[2]
#define ARRAY1 void *, void *, int64_t, int64_t, char *, int64_t, int64_t
#define ARRAY2 ARRAY1, int64_t, int64_t
#define ARRAY3 ARRAY2, int64_t, int64_t

/* The kind of an array's numbers as one letter, whatever the platform calls them; 0 if no kernel takes such numbers. */
static char kind_of(const Py_buffer *view) {
    const char *format = view->format;
    if (!format || !format[0] || format[1]) return 0;
    if (strchr("df?", *format)) return *format;
    if (strchr("bhilq", *format)) return view->itemsize == 8 ? 'q' : view->itemsize == 4 ? 'i' : view->itemsize == 1 ? 'b' : 0;
    if (strchr("BHILQ", *format)) return view->itemsize == 8 ? 'Q' : view->itemsize == 4 ? 'I' : view->itemsize == 1 ? 'B' : 0;
    return 0;
}

static int take_array(PyObject *object, int dimensions, Argument *into, char **kinds) {
    if (PyObject_GetBuffer(object, &into->view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
        into->view.obj = NULL;
        PyErr_Clear();
        PyErr_SetString(PyExc_SystemError, "a kernel was given an array that is not C-contiguous");
        return 0;
    }
    char kind = kind_of(&into->view);
    if (into->view.ndim != dimensions || !kind) {
        PyErr_Format(PyExc_SystemError, "an array of %d dimensions is needed, not one of %d of the format %s",
                     dimensions, into->view.ndim, into->view.format);
        return 0;
    }
    *(*kinds)++ = into->view.readonly ? 'r' : 'w';
    *(*kinds)++ = kind;
    return 1;
}

static int take_whole(PyObject *object, char form, Argument *into) {
    PyObject *number = PyNumber_Index(object);
    if (!number) return 0;
    int fits = 1;
    if (form == 'Q') into->whole = (int64_t) PyLong_AsUnsignedLongLong(number);
    else {
        into->whole = PyLong_AsLongLong(number);
        fits = form == 'I' ? into->whole >= 0 && into->whole <= UINT32_MAX
             : form == 'i' ? into->whole >= INT32_MIN && into->whole <= INT32_MAX
             : form == 'B' ? into->whole >= 0 && into->whole <= UINT8_MAX
             : form == 'b' ? into->whole >= INT8_MIN && into->whole <= INT8_MAX : 1;
    }
    Py_DECREF(number);
    if (PyErr_Occurred()) return 0;
    if (!fits) PyErr_SetString(PyExc_OverflowError, "a whole number is outside the range of its type");
    return fits;
}

/* The form after what was taken from one object, or NULL with an error set. */
static const char *take(PyObject *object, const char *form, Argument **next, char **kinds) {
    if (*form == '(') {
        if (!PyTuple_Check(object)) { PyErr_SetString(PyExc_SystemError, "a tuple is needed"); return NULL; }
        Py_ssize_t size = PyTuple_Size(object);
        form++;
        for (Py_ssize_t k = 0; k < size; k++) {
            if (*form == ')') break;
            if (!(form = take(PyTuple_GetItem(object, k), form, next, kinds))) return NULL;
            if (*form == ')' && k + 1 == size) return form + 1;
        }
        PyErr_SetString(PyExc_SystemError, "a tuple of another length is needed");
        return NULL;
    }
    Argument *into = (*next)++;
    into->view.obj = NULL;
    int taken = 1;
    if (*form >= '1' && *form <= '3') taken = take_array(object, *form - '0', into, kinds);
    else if (*form == 'd') { into->real = PyFloat_AsDouble(object); taken = !PyErr_Occurred(); }
    else if (*form == 't') { into->whole = PyObject_IsTrue(object); taken = into->whole >= 0; }
    else taken = take_whole(object, *form, into);
    return taken ? form + 1 : NULL;
}

static void release(Argument *first, Argument *end) {
    for (; first < end; first++) if (first->view.obj) PyBuffer_Release(&first->view);
}

/* All arguments of a call by the form of each; 0 with an error set, and nothing kept, if one does not fit. */
static int take_all(const char *kernel, PyObject *const *objects, Py_ssize_t given, const char *const *forms, Py_ssize_t wanted,
                    Argument *first, Argument **end, char *kinds) {
    *end = first;
    if (given != wanted) {
        PyErr_Format(PyExc_SystemError, "the kernel %s takes %zd arguments, not %zd", kernel, wanted, given);
        return 0;
    }
    for (Py_ssize_t k = 0; k < wanted; k++)
        if (!take(objects[k], forms[k], end, &kinds)) { release(first, *end); return 0; }
    *kinds = 0;
    return 1;
}

/* Whether arrays of these kinds can be given where those are wanted: what is written must be writable. */
static int fits(const char *kinds, const char *wanted) {
    for (; *wanted; kinds += 2, wanted += 2)
        if (kinds[1] != wanted[1] || (wanted[0] == 'w' && kinds[0] != 'w')) return 0;
    return 1;
}
