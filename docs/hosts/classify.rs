// Classifies images with the sample model, in Rust: the library is opened with dlopen, no crates.
//
//   $ ptc compile sample_models/mlp.py -o .
//   $ rustc -O classify.rs -o classify_rs
//   $ ./classify_rs ./libmlp.so images.f32
//
// images.f32 holds 8 images of 28 x 28 floats, one after the other. The structures below are those of
// mlp.h; of the table of functions, what comes after the last one used is left out.
use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_int};
use std::process::exit;
use std::ptr;

#[repr(C)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

enum Model {}
enum Session {}

#[repr(C)]
struct Api {
    abi_version: u32,
    struct_size: u32,
    manifest: extern "C" fn() -> *const c_char,
    open: extern "C" fn(*const c_void, *mut *mut Model, *mut c_char, usize) -> c_int,
    close: extern "C" fn(*mut Model),
    session_new: extern "C" fn(*mut Model, *mut *mut Session) -> c_int,
    session_free: extern "C" fn(*mut Session),
    entry_count: extern "C" fn() -> u32,
    entry_index: extern "C" fn(*const c_char) -> i32,
    run: extern "C" fn(*mut Session, u32, *const *mut Tensor, usize, *const *mut Tensor, usize) -> c_int,
    release: extern "C" fn(*mut Session, *mut Tensor),
    last_error: extern "C" fn(*const Session) -> *const c_char,
}

extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn fail(message: String) -> ! {
    eprintln!("{}", message);
    exit(1)
}

fn api(path: &str) -> &'static Api {
    let (path, name) = (CString::new(path).unwrap(), CString::new("mlp_ptc_api").unwrap());
    unsafe {
        let library = dlopen(path.as_ptr(), 2); // RTLD_NOW
        if library.is_null() {
            fail(text(dlerror()));
        }
        let symbol = dlsym(library, name.as_ptr());
        if symbol.is_null() {
            fail(text(dlerror()));
        }
        let get: extern "C" fn() -> *const Api = std::mem::transmute(symbol);
        let api = &*get();
        if api.abi_version != 1 {
            fail(format!("interface version {}", api.abi_version));
        }
        api
    }
}

fn tensor(data: &mut [f32], shape: &mut [i64]) -> Tensor {
    Tensor {
        data: data.as_mut_ptr() as *mut c_void,
        device: Device { kind: 1, id: 0 },
        ndim: shape.len() as i32,
        dtype: DataType { code: 2, bits: 32, lanes: 1 },
        shape: shape.as_mut_ptr(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 3 {
        eprintln!("usage: {} libmlp.so images.f32", arguments[0]);
        exit(2);
    }
    let bytes = std::fs::read(&arguments[2]).unwrap_or_else(|error| fail(error.to_string()));
    let mut images: Vec<f32> =
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    if images.len() != 8 * 28 * 28 {
        fail(format!("{} floats, expected 8 images of 28 x 28", images.len()));
    }
    let mut scores = vec![0f32; 8 * 10];

    let api = api(&arguments[1]);
    let (mut model, mut session) = (ptr::null_mut(), ptr::null_mut());
    let mut message = vec![0 as c_char; 256];
    if (api.open)(ptr::null(), &mut model, message.as_mut_ptr(), message.len()) != 0 {
        fail(text(message.as_ptr()));
    }
    if (api.session_new)(model, &mut session) != 0 {
        fail("no memory for a session".to_string());
    }
    let (mut image_shape, mut score_shape) = ([8i64, 1, 28, 28], [8i64, 10]);
    let mut input = tensor(&mut images, &mut image_shape);
    let mut output = tensor(&mut scores, &mut score_shape);
    let (inputs, outputs) = ([&mut input as *mut Tensor], [&mut output as *mut Tensor]);
    if (api.run)(session, 0, inputs.as_ptr(), 1, outputs.as_ptr(), 1) != 0 {
        fail(text((api.last_error)(session)));
    }
    for (i, row) in scores.chunks_exact(10).enumerate() {
        let mut best = 0;
        for k in 1..row.len() {
            if row[k] > row[best] {
                best = k;
            }
        }
        println!("image {}: class {}, score {:.4}", i, best, row[best]);
    }
    (api.session_free)(session);
    (api.close)(model);
}
