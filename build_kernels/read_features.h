/* The features of a dict, {name: number}, as the entries of a sparse row: what massart/kernels/parsing/features.py does in
   Python, one dict at a time, where nothing is compiled. */

#define FEATURES_UNUSUAL (-1)
#define FEATURES_NO_ROOM (-2)
#define FEATURES_MOST_OUT_OF_ORDER 256

/* A number that is a float or a whole number; 0 for anything else, without an error set. */
static int feature_value(PyObject *object, double *value) {
    if (PyFloat_Check(object)) *value = PyFloat_AsDouble(object);
    else if (PyLong_Check(object)) *value = PyLong_AsDouble(object);
    else return 0;
    if (*value == -1.0 && PyErr_Occurred()) { PyErr_Clear(); return 0; }
    return 1;
}

/* Where rows go, and the columns of names: the dict, and its items as arrays, as far as they have been looked at. */
typedef struct {
    PyObject *columns, **names;
    uint32_t *places;
    Py_ssize_t known;
    Py_buffer values, numbers;
    double longest;
} FeatureReader;

static void end_reader(PyObject *capsule) {
    FeatureReader *own = PyCapsule_GetPointer(capsule, NULL);
    for (Py_ssize_t k = 0; k < own->known; k++) Py_DECREF(own->names[k]);
    free(own->names);
    free(own->places);
    PyBuffer_Release(&own->values);
    PyBuffer_Release(&own->numbers);
    Py_DECREF(own->columns);
    free(own);
}

/* Look at the names that have joined; 0 with an error set if there is no memory, or a column is no number. */
static int meet_names(FeatureReader *own) {
    Py_ssize_t size = PyDict_Size(own->columns), from = 0, n = 0;
    PyObject *name, *column;
    PyObject **names = realloc(own->names, (size_t) size * sizeof *names);
    if (names) own->names = names;
    uint32_t *places = realloc(own->places, (size_t) size * sizeof *places);
    if (places) own->places = places;
    if (!names || !places) { PyErr_NoMemory(); return 0; }
    for (; PyDict_Next(own->columns, &from, &name, &column); n++) {
        if (n < own->known) continue; /* a dict keeps its order, and no name leaves this one */
        Py_ssize_t place = PyLong_AsSsize_t(column);
        if (PyErr_Occurred()) return 0;
        if (place < 0 || place >= size) { PyErr_SetString(PyExc_SystemError, "columns must be 0, 1, ..., each once"); return 0; }
        Py_INCREF(name);
        names[n] = name;
        places[n] = (uint32_t) place;
        own->known = n + 1;
    }
    return 1;
}

/* Whether a name is the expected one: the same object, which is fastest, or an equal text. */
static int is_same(PyObject *expected, PyObject *name) {
    if (expected == name) return 1;
    return PyUnicode_CheckExact(expected) && PyUnicode_CheckExact(name) && PyUnicode_Compare(expected, name) == 0;
}

/* The column of a name that is not the expected one: -1 if it has none, -2 if it is neither a text nor a whole number, whose
   hash might run Python. */
static Py_ssize_t column_of(FeatureReader *own, PyObject *name) {
    if (!PyUnicode_CheckExact(name) && !PyLong_CheckExact(name)) return -2;
    PyObject *column = PyDict_GetItemWithError(own->columns, name);
    Py_ssize_t place = column ? PyLong_AsSsize_t(column) : -1;
    if (PyErr_Occurred()) { PyErr_Clear(); return -2; }
    return place < own->known ? place : -2;
}

/* Entries from `at` on, as features.py says; returns where they end. */
static Py_ssize_t read_row(FeatureReader *own, PyObject *features, Py_ssize_t at, int is_known) {
    double *entries = own->values.buf, square = 0.0, value;
    uint32_t *places = own->numbers.buf;
    Py_ssize_t room = own->values.len / 8 < own->numbers.len / 4 ? own->values.len / 8 : own->numbers.len / 4;
    Py_ssize_t size = PyDict_Size(features), from = 0, n = 0, end = at;
    Py_ssize_t whole = size == own->known ? size : 0; /* every column, once */
    PyObject *name, *object;
    int is_aligned = 1, in_order = 1, has_zeros = 0;
    if (at < 0 || at > room || size > room - at) return FEATURES_NO_ROOM;
    while (PyDict_Next(features, &from, &name, &object)) {
        Py_ssize_t place;
        if (is_aligned && n < own->known && is_same(own->names[n], name)) place = own->places[n++];
        else {
            is_aligned = 0;
            place = column_of(own, name);
            if (place == -1 && is_known && !whole && feature_value(object, &value)) continue; /* whole: columns would have gaps */
            if (place < 0) return FEATURES_UNUSUAL;
        }
        if (!feature_value(object, &value)) return FEATURES_UNUSUAL;
        square += value * value;
        if (whole) {
            entries[at + place] = value;
            has_zeros |= value == 0.0;
            continue;
        }
        if (value == 0.0) continue;
        in_order &= end == at || places[end - 1] < place;
        entries[end] = value;
        places[end++] = (uint32_t) place;
    }
    if (!(square <= own->longest)) return FEATURES_UNUSUAL; /* not finite, or too long */
    if (!has_zeros) {
        for (Py_ssize_t k = 0; k < whole; k++) places[at + k] = (uint32_t) k;
        end += whole;
    } else for (Py_ssize_t k = 0; k < whole; k++) {
        entries[end] = entries[at + k];
        places[end] = (uint32_t) k;
        end += entries[end] != 0.0;
    }
    if (!in_order) {
        if (end - at > FEATURES_MOST_OUT_OF_ORDER) return FEATURES_UNUSUAL;
        for (Py_ssize_t k = at + 1; k < end; k++) {
            double entry = entries[k];
            uint32_t place = places[k];
            Py_ssize_t j = k;
            for (; j > at && places[j - 1] > place; j--) { entries[j] = entries[j - 1]; places[j] = places[j - 1]; }
            if (j > at && places[j - 1] == place) return FEATURES_UNUSUAL; /* two names share a column */
            entries[j] = entry;
            places[j] = place;
        }
    }
    return end;
}

/* reader(features, at, is_known) */
static PyObject *read_features(PyObject *capsule, PyObject *const *objects, Py_ssize_t given) {
    FeatureReader *own = PyCapsule_GetPointer(capsule, NULL);
    if (!own || given != 3) return PyErr_Format(PyExc_SystemError, "a reader takes features, a place, and whether names are known");
    if (!PyDict_Check(objects[0])) return PyLong_FromLong(FEATURES_UNUSUAL);
    if (own->known != PyDict_Size(own->columns) && !meet_names(own)) return NULL;
    Py_ssize_t at = PyLong_AsSsize_t(objects[1]);
    int is_known = PyObject_IsTrue(objects[2]);
    if (PyErr_Occurred()) return NULL;
    return PyLong_FromSsize_t(read_row(own, objects[0], at, is_known));
}

static PyMethodDef feature_reader_call = {"read_features", (PyCFunction) (void (*)(void)) read_features, METH_FASTCALL,
                                          "What `feature_reader` of massart/kernels/parsing/features.py makes, in C."};

/* feature_reader(columns, values, numbers, longest): it keeps the arrays, as they lie in memory. It reads fastest if the names
   of a dict come in the order of `columns`, and are the very objects. */
static PyObject *feature_reader(PyObject *self, PyObject *const *objects, Py_ssize_t given) {
    if (given != 4 || !PyDict_Check(objects[0])) return PyErr_Format(PyExc_SystemError, "columns, two arrays and a number are needed");
    FeatureReader *own = calloc(1, sizeof *own);
    if (!own) return PyErr_NoMemory();
    own->longest = PyFloat_AsDouble(objects[3]);
    const int flags = PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS;
    if (PyErr_Occurred() || PyObject_GetBuffer(objects[1], &own->values, flags) < 0) { free(own); return NULL; }
    if (PyObject_GetBuffer(objects[2], &own->numbers, flags) < 0) {
        PyBuffer_Release(&own->values);
        free(own);
        return NULL;
    }
    Py_INCREF(objects[0]);
    own->columns = objects[0];
    int fits = kind_of(&own->values) == 'd' && kind_of(&own->numbers) == 'I';
    PyObject *function = bound(&feature_reader_call, own, end_reader);
    if (fits) return function;
    Py_XDECREF(function);
    return PyErr_Format(PyExc_SystemError, "arrays of float64 and uint32 are needed");
}
