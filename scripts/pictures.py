"""Small PNG files of a page: no more than 256 colours, which is all that a page of text and few colours needs. No library is asked for."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

from playwright.async_api import Page

# The browser decodes its own picture and maps it to 256 of its colours; rarer shades go to the nearest of them.
_REDUCE = """async (png) => {
  const bitmap = await createImageBitmap(await (await fetch(png)).blob());
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const paper = canvas.getContext('2d');
  paper.drawImage(bitmap, 0, 0);
  const pixels = new Uint32Array(paper.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const parts = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  const frequent = [...counts.entries()].sort((one, other) => other[1] - one[1]).map(([pixel]) => pixel);
  const palette = [];
  // First colours that differ, so that a small green dot keeps its green; then the most frequent shades between them.
  for (const least of [900, 200, 0]) {
    for (const pixel of frequent) {
      if (palette.length === (least ? 200 : 256)) break;
      const [red, green, blue] = parts(pixel);
      const far = (other) => { const [r, g, b] = parts(other); return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2; };
      if (least ? palette.every((other) => far(other) >= least) : !palette.includes(pixel)) palette.push(pixel);
    }
  }
  const places = new Map(palette.map((pixel, place) => [pixel, place]));
  const nearest = (pixel) => {
    const [red, green, blue] = parts(pixel);
    let best = 0, least = Infinity;
    palette.forEach((other, place) => {
      const [r, g, b] = parts(other), far = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
      if (far < least) { least = far; best = place; }
    });
    places.set(pixel, best);
    return best;
  };
  const indices = new Uint8Array(pixels.length);
  pixels.forEach((pixel, at) => { indices[at] = places.get(pixel) ?? nearest(pixel); });
  let text = '';
  for (let at = 0; at < indices.length; at += 32768) text += String.fromCharCode(...indices.subarray(at, at + 32768));
  return { width: bitmap.width, height: bitmap.height, palette: palette.flatMap(parts), indices: btoa(text) };
}"""


def _piece(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


async def save(reducer: Page, png: bytes, path: Path) -> None:
    """Write a picture with few colours to ``path``; ``reducer`` is any blank page of the browser."""
    found = await reducer.evaluate(_REDUCE, "data:image/png;base64," + base64.b64encode(png).decode())
    width, height, pixels = found["width"], found["height"], base64.b64decode(found["indices"])
    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, width * height, width))
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + _piece(b"IHDR", header)
        + _piece(b"PLTE", bytes(found["palette"]))
        + _piece(b"IDAT", zlib.compress(rows, 9))
        + _piece(b"IEND", b"")
    )
