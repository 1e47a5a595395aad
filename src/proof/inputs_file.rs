//! [`Inputs`] as a TOML file; long contents are in separate files: `{ file = "inputs/0.bin" }` can replace any bytes.
//!
//! File names are relative to the TOML file and stay inside its folder.

use dovetail_base::error::{Context, Error, Result};
use dovetail_base::files;
use dovetail_base::files::MAX_TEXT;
use dovetail_emu::inputs::Inputs;
use std::fs;
use std::path::{Component, Path};
use toml::{Table, Value};

/// Largest module, output, or contents of one binding or vertex buffer, in bytes.
pub(super) const MAX_FILE: u64 = 256 << 20;
/// Longest contents that are written inline, in digits.
const SHORT: usize = 512;

/// Reads inputs.
///
/// # Errors
/// Malformed: invalid inputs, or a name outside the folder. Environment: a missing file.
pub fn read(path: &Path) -> Result<Inputs> {
    let place = || path.display().to_string();
    let text = files::read_named_text(path, MAX_TEXT)?;
    // Without file references the text is parsed as it is, so that an error can point into it.
    if !text.contains("file") {
        return toml::from_str(&text).map_err(|e| Error::malformed(e.to_string())).at(place);
    }
    let table: Table = toml::from_str(&text).map_err(|e| Error::malformed(e.to_string())).at(place)?;
    let mut value = Value::Table(table);
    let folder = path.parent().unwrap_or(Path::new(""));
    each_table(&mut value, &mut |table| {
        let [Value::String(name)] =
            table.iter().filter(|(key, _)| *key == "file").map(|(_, v)| v).collect::<Vec<_>>()[..]
        else {
            return Ok(());
        };
        let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside {
            return Err(Error::malformed(format!("`{name}` is not below the folder")));
        }
        let file = folder.join(name);
        let bytes = files::read(&file, MAX_FILE)?;
        let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        *table = Table::from_iter([("hex".to_owned(), Value::String(digits))]);
        Ok(())
    })
    .at(place)?;
    value.try_into().map_err(|e: toml::de::Error| Error::malformed(e.to_string())).at(place)
}

/// Writes inputs; long contents go to a folder with the file's name without extension.
///
/// # Errors
/// Environment: a file cannot be written. Malformed: a number that TOML cannot hold.
pub fn write(path: &Path, inputs: &Inputs) -> Result<()> {
    let place = || path.display().to_string();
    let malformed = |e: toml::ser::Error| Error::malformed(e.to_string());
    let mut value = Value::try_from(inputs).map_err(malformed).at(place)?;
    let contents = path.with_extension("");
    let stem = contents.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut files = 0;
    each_table(&mut value, &mut |table| {
        let Some(Value::String(digits)) = table.get("hex").filter(|_| table.len() == 1) else { return Ok(()) };
        if digits.len() <= SHORT {
            return Ok(());
        }
        let digit = |at: usize| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(digit).collect();
        let bytes = bytes.ok_or_else(|| Error::bug("bytes that are not in hexadecimal"))?;
        fs::create_dir_all(&contents)?;
        fs::write(contents.join(format!("{files}.bin")), bytes)?;
        *table = Table::from_iter([("file".to_owned(), Value::String(format!("{stem}/{files}.bin")))]);
        files += 1;
        Ok(())
    })
    .at(place)?;
    let text = toml::to_string_pretty(&value).map_err(malformed).at(place)?;
    fs::write(path, text).at(place)
}

fn each_table(value: &mut Value, change: &mut dyn FnMut(&mut Table) -> Result<()>) -> Result<()> {
    match value {
        Value::Table(table) => {
            change(table)?;
            table.iter_mut().try_for_each(|(_, value)| each_table(value, change))
        }
        Value::Array(array) => array.iter_mut().try_for_each(|value| each_table(value, change)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_emu::inputs::{BindingElement, Bound, Image, InputBytes, Sampler, Slot, StoredPointer, ViewShape};

    #[test]
    fn long_contents_stand_beside_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("inputs.toml");
        let image = Image {
            format: "R8G8B8A8_UNORM".into(),
            shape: ViewShape::D2,
            extent: [16, 16, 1],
            layers: 1,
            arrayed: false,
            levels: 1,
            samples: 1,
            swizzle: Default::default(),
            data: InputBytes((0..=255).cycle().take(1024).collect()),
        };
        let sampler = Sampler { max_lod: 0.1, ..Default::default() };
        let bind = |binding, bound| BindingElement { set: 0, binding, element: 0, bound };
        let inputs = Inputs {
            bindings: vec![
                bind(0, Bound::CombinedImageSampler(image, sampler)),
                bind(1, Bound::StorageBuffer(InputBytes(vec![0; 5000]))),
                bind(2, Bound::StorageBuffer(InputBytes(vec![7; 5000]))),
            ],
            push_constants: InputBytes(vec![1, 2, 3, 4, 5, 6, 7, 8]),
            pointers: vec![StoredPointer {
                within: None,
                byte: 0,
                to: Slot { set: 0, binding: 2, element: 0 },
                offset: 4096,
            }],
            absent: vec![],
            grid: [1, 2, 3],
            draw: None,
        };
        write(&path, &inputs).expect("written");
        assert_eq!(read(&path).expect("read"), inputs);
        let text = fs::read_to_string(&path).expect("text");
        assert!(text.contains("inputs/1.bin") && text.contains("zeros = 5000") && text.len() < 1500, "{text}");

        fs::remove_file(folder.path().join("inputs/1.bin")).expect("removed");
        assert!(read(&path).unwrap_err().to_string().contains("1.bin"));
        fs::write(&path, text.replace("inputs/1.bin", "../1.bin")).expect("written");
        let away = read(&path).unwrap_err();
        assert!(away.exit_code() == 2 && away.to_string().contains("below the folder"), "{away}");
    }
}
