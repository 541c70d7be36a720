// Classifies images with the sample model, in JavaScript: Node calls the library through koffi.
//
//   $ ptc compile sample_models/mlp.py -o .
//   $ npm install koffi
//   $ node classify.mjs ./libmlp.so images.f32
//
// images.f32 holds 8 images of 28 x 28 floats, one after the other. The structures are those of mlp.h.
import { readFileSync } from 'node:fs';
import koffi from 'koffi';

const [, , path, file] = process.argv;
if (!file) {
  console.error('usage: node classify.mjs ./libmlp.so images.f32');
  process.exit(2);
}

koffi.struct('Device', { kind: 'int32_t', id: 'int32_t' });
koffi.struct('DataType', { code: 'uint8_t', bits: 'uint8_t', lanes: 'uint16_t' });
const Tensor = koffi.struct('Tensor', {
  data: 'void *', device: 'Device', ndim: 'int32_t', dtype: 'DataType', shape: 'void *', strides: 'void *',
  byte_offset: 'uint64_t',
});
const Open = koffi.proto('int Open(void *options, _Out_ void **model, void *message, size_t capacity)');
const Close = koffi.proto('void Close(void *model)');
const SessionNew = koffi.proto('int SessionNew(void *model, _Out_ void **session)');
const SessionFree = koffi.proto('void SessionFree(void *session)');
const Run = koffi.proto(
  'int Run(void *session, uint32_t entry, void *inputs, size_t input_count, void *outputs, size_t output_count)');
const LastError = koffi.proto('const char *LastError(void *session)');
const Api = koffi.struct('Api', {
  abi_version: 'uint32_t', struct_size: 'uint32_t', manifest: 'void *', open: koffi.pointer(Open),
  close: koffi.pointer(Close), session_new: koffi.pointer(SessionNew), session_free: koffi.pointer(SessionFree),
  entry_count: 'void *', entry_index: 'void *', run: koffi.pointer(Run), release: 'void *',
  last_error: koffi.pointer(LastError),
});

const library = koffi.load(path);
const api = koffi.decode(library.func('void *mlp_ptc_api()')(), Api);
const call = (pointer, type, ...values) => koffi.call(pointer, type, ...values);

// Memory that the library reads and writes must not move: koffi allocates it.
function tensor(shape) {
  const size = shape.reduce((a, b) => a * b, 1);
  const data = koffi.alloc('float', size), dims = koffi.alloc('int64_t', shape.length);
  koffi.encode(dims, koffi.array('int64_t', shape.length), shape);
  const struct = koffi.alloc(Tensor, 1);
  koffi.encode(struct, Tensor, {
    data, device: { kind: 1, id: 0 }, ndim: shape.length, dtype: { code: 2, bits: 32, lanes: 1 }, shape: dims,
    strides: null, byte_offset: 0,
  });
  const list = koffi.alloc('void *', 1);
  koffi.encode(list, 'void *', struct);
  return { data, size, list };
}

const bytes = readFileSync(file);
const images = tensor([8, 1, 28, 28]), scores = tensor([8, 10]);
const pixels = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
koffi.encode(images.data, koffi.array('float', images.size), pixels);

const message = koffi.alloc('char', 256), model = [null], session = [null];
if (call(api.open, Open, null, model, message, 256)) {
  console.error(koffi.decode(message, 'char', -1));
  process.exit(1);
}
if (call(api.session_new, SessionNew, model[0], session)) process.exit(1);
if (call(api.run, Run, session[0], 0, images.list, 1, scores.list, 1)) {
  console.error(call(api.last_error, LastError, session[0]));
  process.exit(1);
}
const values = Array.from(koffi.decode(scores.data, koffi.array('float', scores.size)));
for (let i = 0; i < 8; ++i) {
  const row = values.slice(10 * i, 10 * i + 10), best = Math.max(...row);
  console.log(`image ${i}: class ${row.indexOf(best)}, score ${best.toFixed(4)}`);
}
call(api.session_free, SessionFree, session[0]);
call(api.close, Close, model[0]);
