/* Offers: dicts of features to hashed columns, and these to the columns of a bandit. What massart/kernels/parsing/offers.py does
   in Python where nothing is compiled. Nothing here runs Python code: names are texts, columns whole numbers, exactly. */

#define OFFERS_UNUSUAL (-1)

/* Adds one value to a row; 0 if it is unusual, -1 with an error set. */
static int add_feature(PyObject *row, PyObject *name, PyObject *object, PyObject *columns, PyObject *texts, double largest) {
    PyObject *column, *made = NULL;
    if (!PyUnicode_CheckExact(name)) return 0;
    if (object == Py_None || object == Py_False) return 1;
    if (PyUnicode_CheckExact(object)) {
        if (PyUnicode_GetLength(object) == 0) return 1;
        PyObject *pair = PyTuple_Pack(2, name, object);
        if (!pair) return -1;
        column = PyDict_GetItemWithError(texts, pair);
        Py_DECREF(pair);
        if (column) object = made = PyFloat_FromDouble(1.0);
    } else {
        double value;
        int overflow = 0;
        if (PyFloat_CheckExact(object)) value = PyFloat_AsDouble(object);
        else if (object == Py_True || PyLong_CheckExact(object)) { /* exact as long as it has 64 bits */
            long long whole = PyLong_AsLongLongAndOverflow(object, &overflow);
            if (overflow) return 0;
            value = (double) whole;
        } else return 0;
        if (!(-largest <= value && value <= largest)) return 0;
        if (value == 0.0) return 1;
        column = PyDict_GetItemWithError(columns, name);
        if (column && !PyFloat_CheckExact(object)) object = made = PyFloat_FromDouble(value);
    }
    if (!column) return PyErr_Occurred() ? -1 : 0;
    if (!object) return -1;
    int found = PyLong_CheckExact(column) ? PyDict_Contains(row, column) : 1; /* two that share a column are added up in Python */
    if (found == 0) found = PyDict_SetItem(row, column, object) < 0 ? -1 : 0;
    Py_XDECREF(made);
    return found < 0 ? -1 : !found;
}

/* The row of one object, a new reference: None if it is no dict, or has something unusual. */
static PyObject *row_of_object(PyObject *object, PyObject *columns, PyObject *texts, double largest) {
    PyObject *row, *name, *value;
    Py_ssize_t from = 0;
    int added = PyDict_CheckExact(object);
    if (!added) return Py_BuildValue("");
    if (!(row = PyDict_New())) return NULL;
    while (added > 0 && PyDict_Next(object, &from, &name, &value))
        added = add_feature(row, name, value, columns, texts, largest);
    if (added > 0) return row;
    Py_DECREF(row);
    return added < 0 ? NULL : Py_BuildValue("");
}

/* hashed_rows(objects, columns, texts, largest) */
static PyObject *hashed_rows(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    if (count != 4 || !PyList_Check(given[0]) || !PyDict_Check(given[1]) || !PyDict_Check(given[2]))
        return PyErr_Format(PyExc_SystemError, "a list, two dicts and a number are needed");
    double largest = PyFloat_AsDouble(given[3]);
    if (PyErr_Occurred()) return NULL;
    PyObject *rows = PyList_New(0);
    for (Py_ssize_t k = 0; rows && k < PyList_Size(given[0]); k++) {
        PyObject *row = row_of_object(PyList_GetItem(given[0], k), given[1], given[2], largest);
        if (!row || PyList_Append(rows, row) < 0) Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

/* placed_rows(rows, columns, values, numbers, starts): entries of the rows, or that something is unusual. */
static Py_ssize_t place_rows(PyObject *rows, PyObject *columns, Py_buffer *views) {
    double *values = views[0].buf;
    int64_t *numbers = views[1].buf, *starts = views[2].buf;
    Py_ssize_t room = views[0].len < views[1].len ? views[0].len / 8 : views[1].len / 8, count = PyTuple_Size(rows), n = 0;
    if (views[2].len / 8 != count + 1) return OFFERS_UNUSUAL;
    starts[0] = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *row = PyTuple_GetItem(rows, k), *key, *value;
        Py_ssize_t from = 0;
        int64_t last = -1;
        if (!PyDict_CheckExact(row) || PyDict_Size(row) > room - n) return OFFERS_UNUSUAL;
        while (PyDict_Next(row, &from, &key, &value)) {
            PyObject *place = PyLong_CheckExact(key) && PyFloat_CheckExact(value) ? PyDict_GetItemWithError(columns, key) : NULL;
            if (!place || !PyLong_CheckExact(place)) return OFFERS_UNUSUAL; /* a feature that is new */
            int overflow = 0;
            int64_t number = PyLong_AsLongLongAndOverflow(place, &overflow);
            if (overflow || number <= last) return OFFERS_UNUSUAL; /* to be sorted, or added up */
            numbers[n] = last = number;
            values[n++] = PyFloat_AsDouble(value);
        }
        starts[k + 1] = n;
    }
    return n;
}

static PyObject *placed_rows(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    if (count != 5 || !PyTuple_Check(given[0]) || !PyDict_Check(given[1]))
        return PyErr_Format(PyExc_SystemError, "rows, a dict and three arrays are needed");
    Py_buffer views[3];
    int taken = 0, fits = 1;
    for (; taken < 3; taken++)
        if (PyObject_GetBuffer(given[2 + taken], &views[taken], PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) break;
    for (int k = 0; k < taken; k++) fits &= kind_of(&views[k]) == (k ? 'q' : 'd');
    Py_ssize_t found = taken == 3 && fits ? place_rows(given[0], given[1], views) : OFFERS_UNUSUAL;
    for (int k = 0; k < taken; k++) PyBuffer_Release(&views[k]);
    if (taken == 3 && !fits) return PyErr_Format(PyExc_SystemError, "arrays of float64, int64 and int64 are needed");
    return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(found);
}
