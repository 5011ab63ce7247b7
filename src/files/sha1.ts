// SHA-1 of a short text, where a hash only makes a name of it. Node's own is in a module that takes 4 ms to load, a tenth
// of the time of a whole search. Written for code that runs a few times and is never optimized.

const words = new Int32Array(80)

/** As hexadecimal digits. */
export function sha1(text: string): string {
  const message = Buffer.from(text)
  // One bit, zeros, and the length in bits, so that whole blocks of 64 bytes come out.
  const padded = Buffer.alloc((((message.length + 8) >> 6) + 1) << 6)
  message.copy(padded)
  padded[message.length] = 0x80
  padded.writeUIntBE(message.length * 8, padded.length - 6, 6)
  const state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0)
  for (let at = 0; at < padded.length; at += 64) addBlock(state, padded, at)
  let hex = ''
  for (const word of state) hex += (word >>> 0).toString(16).padStart(8, '0')
  return hex
}

function addBlock(state: Int32Array, bytes: Buffer, from: number): void {
  for (let i = 0; i < 16; i++) words[i] = bytes.readInt32BE(from + 4 * i)
  for (let i = 16; i < 80; i++) {
    const mixed =
      (words[i - 3] as number) ^
      (words[i - 8] as number) ^
      (words[i - 14] as number) ^
      (words[i - 16] as number)
    words[i] = (mixed << 1) | (mixed >>> 31)
  }
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  for (let i = 0; i < 80; i++) {
    let mixed: number
    if (i < 20) mixed = ((b & c) | (~b & d)) + 0x5a827999
    else if (i < 40) mixed = (b ^ c ^ d) + 0x6ed9eba1
    else if (i < 60) mixed = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
    else mixed = (b ^ c ^ d) + 0xca62c1d6
    const next = (((a << 5) | (a >>> 27)) + mixed + e + (words[i] as number)) | 0
    e = d
    d = c
    c = (b << 30) | (b >>> 2)
    b = a
    a = next
  }
  state.set([
    (state[0] as number) + a,
    (state[1] as number) + b,
    (state[2] as number) + c,
    (state[3] as number) + d,
    (state[4] as number) + e,
  ])
}
