// Lists whose length data decides: growable arrays of tensors, strings, numbers or lists, shared by reference.
//
// Owns ListData and what programs do with lists. Indices are valid: the generated code has tested them. Knows
// no text.
#ifndef PTC_CONTROL_LIST_H
#define PTC_CONTROL_LIST_H

#include <stdio.h>

#include "ptc_control.h"
#include "ptc_control_string.h"

namespace ptc {

struct KeyTable;

struct ListData {
  int32_t refs;
  int64_t count, capacity;
  char* items;
  KeyTable* table;  // see ptc_control_keys.h
  int64_t stamp;    // of a list that a table was made of: another one after each change but an append
};

// A list variable with elements of type T: Tensor, String, int64_t, double, bool or a List. All bits zero: not
// assigned. A list cannot hold itself, as its type has an end, so that counting references is enough.
template <class T> struct List {
  ListData* data;

  T* items() const { return (T*)data->items; }
  int64_t count() const { return data->count; }
};

template <class T> inline void drop(Control* c, List<T>* list);

namespace detail {
inline void retain(const Tensor& t) { ++t.storage->refs; }
inline void retain(const String& s) { ++s.data->refs; }
template <class T> inline void retain(const List<T>& l) { ++l.data->refs; }
inline void retain(int64_t) {}
inline void retain(double) {}
inline void retain(bool) {}
inline bool is_set(const Tensor& t) { return t.storage; }
inline bool is_set(const String& s) { return s.data; }
template <class T> inline bool is_set(const List<T>& l) { return l.data; }
inline bool is_set(int64_t) { return true; }
inline bool is_set(double) { return true; }
inline bool is_set(bool) { return true; }
inline void unlink(Control* c, Tensor* t) { drop(c, t); }
inline void unlink(Control* c, String* s) { drop(c, s); }
template <class T> inline void unlink(Control* c, List<T>* l) { drop(c, l); }
inline void unlink(Control*, int64_t*) {}
inline void unlink(Control*, double*) {}
inline void unlink(Control*, bool*) {}
}  // namespace detail

// Elements change or move.
inline void note_change(Control* c, ListData* list) {
  if (list->stamp) list->stamp = ++c->memory->stamps;
}

template <class T> inline void list_clear(Control* c, List<T> list) {
  note_change(c, list.data);
  for (int64_t i = 0; i < list.count(); ++i) detail::unlink(c, &list.items()[i]);
  list.data->count = 0;
}

template <class T> inline void drop(Control* c, List<T>* list) {
  if (list->data && !--list->data->refs) {
    list_clear(c, *list);
    free_bytes(list->data->table);
    free_bytes(list->data->items);
    free_bytes(list->data);
  }
  list->data = nullptr;
}

template <class T> inline void share(Control* c, List<T>* to, const List<T>* from) {
  List<T> old = *to;
  *to = *from;
  if (to->data) ++to->data->refs;
  drop(c, &old);
}

template <class T> inline void move(Control* c, List<T>* to, List<T>* from) {
  List<T> old = *to;
  *to = *from;
  from->data = nullptr;
  drop(c, &old);
}

template <class T> inline int list_reserve(Control* c, List<T> list, int64_t count) {
  ListData* const data = list.data;
  if (count <= data->capacity) return STATUS_OK;
  int64_t capacity = data->capacity * 2 > count ? data->capacity * 2 : count;
  capacity = capacity < 8 ? 8 : capacity;
  char* const items = (char*)allocate_bytes(capacity * (int64_t)sizeof(T));
  if (!items) return c->fail(STATUS_MEMORY, "no memory for a list");
  if (data->count) memcpy(items, data->items, (size_t)data->count * sizeof(T));
  free_bytes(data->items);
  data->items = items;
  data->capacity = capacity;
  return STATUS_OK;
}

// An empty list in `to`, which must be empty itself.
template <class T> inline int list_create(Control* c, List<T>* to) {
  to->data = (ListData*)allocate_bytes(sizeof(ListData));
  if (!to->data) return c->fail(STATUS_MEMORY, "no memory for a list");
  *to->data = ListData{1, 0, 0, nullptr, nullptr, 0};
  return STATUS_OK;
}

template <class T> inline int list_insert(Control* c, List<T> list, int64_t index, T value) {
  detail::retain(value);  // first: it may be an element of the list
  if (const int status = list_reserve(c, list, list.count() + 1)) {
    detail::unlink(c, &value);
    return status;
  }
  if (index < list.count()) note_change(c, list.data);
  T* const items = list.items();
  memmove((void*)(items + index + 1), (const void*)(items + index), (size_t)(list.count() - index) * sizeof(T));
  memcpy((void*)(items + index), (const void*)&value, sizeof(T));
  ++list.data->count;
  return STATUS_OK;
}

template <class T> inline int list_append(Control* c, List<T> list, T value) {
  return list_insert(c, list, list.count(), value);
}

// Elements [start, stop) of `from` to the end of `list`, which may be `from` itself.
template <class T> inline int list_extend(Control* c, List<T> list, List<T> from, int64_t start, int64_t stop) {
  if (stop <= start) return STATUS_OK;
  if (const int status = list_reserve(c, list, list.count() + stop - start)) return status;
  for (int64_t i = start; i < stop; ++i) {
    detail::retain(from.items()[i]);
    memcpy((void*)(list.items() + list.data->count), (const void*)(from.items() + i), sizeof(T));
    ++list.data->count;
  }
  return STATUS_OK;
}

template <class T> inline void list_set(Control* c, List<T> list, int64_t index, T value) {
  note_change(c, list.data);
  detail::retain(value);
  detail::unlink(c, &list.items()[index]);
  memcpy((void*)(list.items() + index), (const void*)&value, sizeof(T));
}

template <class T> inline void list_reverse(Control* c, List<T> list) {
  note_change(c, list.data);
  for (int64_t i = 0, j = list.count() - 1; i < j; ++i, --j) {
    T const first = list.items()[i];
    list.items()[i] = list.items()[j];
    list.items()[j] = first;
  }
}

inline void list_get(Control* c, Tensor* to, List<Tensor> list, int64_t index) {
  share(c, to, &list.items()[index]);
}
inline void list_get(Control* c, String* to, List<String> list, int64_t index) {
  share(c, to, &list.items()[index]);
}
template <class T> inline void list_get(Control* c, List<T>* to, List<List<T>> list, int64_t index) {
  List<T> const found = list.items()[index];  // `to` may be the last reference to `list`
  share(c, to, &found);
}
template <class T> inline void list_get(Control*, T* to, List<T> list, int64_t index) {
  *to = list.items()[index];
}

template <class T> inline void list_pop(Control* c, T* to, List<T> list, int64_t index) {
  note_change(c, list.data);
  list_get(c, to, list, index);
  detail::unlink(c, &list.items()[index]);
  --list.data->count;
  T* const at = list.items() + index;
  memmove((void*)at, (const void*)(at + 1), (size_t)(list.count() - index) * sizeof(T));
}

// --- lists from lists ---------------------------------------------------------------------------------

// `to` = a new list with the elements [start, stop) of `first` and all of `second`, which may be null.
template <class T>
inline int list_join(Control* c, List<T>* to, List<T> first, int64_t start, int64_t stop, List<T> second) {
  List<T> made = {};
  int status = list_create(c, &made);
  if (!status) status = list_extend(c, made, first, start, stop);
  if (!status && second.data) status = list_extend(c, made, second, 0, second.count());
  if (!status) move(c, to, &made);
  drop(c, &made);
  return status;
}
template <class T> inline int list_copy(Control* c, List<T>* to, List<T> from) {
  return list_join(c, to, from, 0, from.count(), List<T>{});
}
template <class T> inline int list_slice(Control* c, List<T>* to, List<T> from, int64_t start, int64_t stop) {
  return list_join(c, to, from, start, stop, List<T>{});
}
template <class T> inline int list_concat(Control* c, List<T>* to, List<T> first, List<T> second) {
  return list_join(c, to, first, 0, first.count(), second);
}
// `to` = the elements of `from` at these positions.
template <class T> inline int list_pick(Control* c, List<T>* to, List<T> from, List<int64_t> positions) {
  List<T> made = {};
  int status = list_create(c, &made);
  for (int64_t i = 0; i < positions.count() && !status; ++i)
    status = list_append(c, made, from.items()[positions.items()[i]]);
  if (!status) move(c, to, &made);
  drop(c, &made);
  return status;
}
// `to` = a list with `value` for each element of `from`.
template <class T, class U> inline int list_filled(Control* c, List<T>* to, List<U> from, T value) {
  List<T> made = {};
  int status = list_create(c, &made);
  for (int64_t i = 0; i < from.count() && !status; ++i) status = list_append(c, made, value);
  if (!status) move(c, to, &made);
  drop(c, &made);
  return status;
}
// `to` = the lengths of the lists in `from`.
template <class T> inline int list_lengths(Control* c, List<int64_t>* to, List<List<T>> from) {
  List<int64_t> made = {};
  int status = list_create(c, &made);
  for (int64_t i = 0; i < from.count() && !status; ++i) status = list_append(c, made, from.items()[i].count());
  if (!status) move(c, to, &made);
  drop(c, &made);
  return status;
}
// `to` = the elements of all lists in `from`.
template <class T> inline int list_flat(Control* c, List<T>* to, List<List<T>> from) {
  List<T> made = {};
  int status = list_create(c, &made);
  for (int64_t i = 0; i < from.count() && !status; ++i)
    status = list_extend(c, made, from.items()[i], 0, from.items()[i].count());
  if (!status) move(c, to, &made);
  drop(c, &made);
  return status;
}
// `to` = the list of `count` given elements; where one is not assigned, `to` is not either.
template <class T> inline int list_new(Control* c, List<T>* to, const T* items, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!detail::is_set(items[i])) {
      drop(c, to);
      return STATUS_OK;
    }
  List<T> made = {};
  int status = list_create(c, &made);
  for (int64_t i = 0; i < count && !status; ++i) status = list_append(c, made, items[i]);
  if (!status) move(c, to, &made);
  drop(c, &made);
  return status;
}

// --- tensors from lists -------------------------------------------------------------------------------

// `[2, 3]`
inline void shape_text(char* text, size_t capacity, const Tensor& t) {
  size_t used = (size_t)snprintf(text, capacity, "[");
  for (int d = 0; d < t.ndim && used < capacity; ++d)
    used += (size_t)snprintf(text + used, capacity - used, d ? ", %lld" : "%lld", (long long)t.dims[d]);
  if (used < capacity) snprintf(text + used, capacity - used, "]");
}

// The elements as blocks of `to` along `dim`: `rows` blocks of each element lie one after the other in `to`.
inline void list_place(Tensor* to, List<Tensor> list, int64_t rows) {
  char* out = to->data();
  const int64_t itemsize = to->itemsize();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < list.count(); ++i) {
      const Tensor& t = list.items()[i];
      const int64_t block = t.count() / rows * itemsize;
      memcpy(out, t.data() + row * block, (size_t)block);
      out += block;
    }
}

// torch.stack; `to` must be empty, `dim` is not negative.
inline int list_stack(Control* c, Tensor* to, List<Tensor> list, int64_t dim) {
  char first_text[256], other_text[256], text[640];
  if (!list.count()) return c->raise("RuntimeError", "stack expects a non-empty TensorList");
  const Tensor& first = list.items()[0];
  for (int64_t i = 1; i < list.count(); ++i) {
    const Tensor& t = list.items()[i];
    if (memcmp(t.dims, first.dims, (size_t)t.ndim * sizeof(int64_t)) == 0) continue;
    shape_text(first_text, sizeof first_text, first);
    shape_text(other_text, sizeof other_text, t);
    snprintf(text, sizeof text,
             "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %lld", first_text, other_text, (long long)i);
    return c->raise("RuntimeError", text);
  }
  int64_t dims[MAX_DIMS + 1], rows = 1;
  if (first.ndim >= MAX_DIMS) return c->fail(STATUS_RUNTIME, "tensors of more than 8 dimensions");
  for (int d = 0; d <= first.ndim; ++d)
    dims[d] = d < dim ? first.dims[d] : d == dim ? list.count() : first.dims[d - 1];
  for (int d = 0; d < dim; ++d) rows *= dims[d];
  if (const int status = create(c, to, first.code, first.bits, first.ndim + 1, dims)) return status;
  if (rows) list_place(to, list, rows);
  return STATUS_OK;
}

// torch.cat; `to` must be empty, `dim` is not negative.
inline int list_cat(Control* c, Tensor* to, List<Tensor> list, int64_t dim) {
  char text[256];
  if (!list.count()) return c->raise("RuntimeError", "torch.cat(): expected a non-empty list of Tensors");
  const Tensor* first = &list.items()[0];
  const auto skipped = [](const Tensor& t) { return t.ndim == 1 && t.dims[0] == 0; };
  for (int64_t i = 0; i < list.count() && skipped(*first); ++i) first = &list.items()[i];
  int64_t dims[MAX_DIMS], rows = 1, total = 0;
  for (int d = 0; d < first->ndim; ++d) dims[d] = first->dims[d];
  for (int64_t i = 0; i < list.count(); ++i) {
    const Tensor& t = list.items()[i];
    if (skipped(t)) continue;
    for (int d = 0; d < t.ndim; ++d) {
      if (d == dim || t.dims[d] == dims[d]) continue;
      snprintf(text, sizeof text,
               "Sizes of tensors must match except in dimension %lld. Expected size %lld but got size %lld "
               "for tensor number %lld in the list.",
               (long long)dim, (long long)dims[d], (long long)t.dims[d], (long long)i);
      return c->raise("RuntimeError", text);
    }
    total += t.dims[dim];
  }
  dims[dim] = total;
  for (int d = 0; d < dim; ++d) rows *= dims[d];
  if (const int status = create(c, to, first->code, first->bits, first->ndim, dims)) return status;
  if (rows) list_place(to, list, rows);
  return STATUS_OK;
}

}  // namespace ptc

#endif
