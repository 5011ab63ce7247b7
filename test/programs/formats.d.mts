// What a format's driver offers (see formats.mjs).
export interface Written {
  writer: string
  i: number
  bytes: number
  text: string
}

export interface Writer {
  append(writer: string, i: number, bytes: number): Promise<unknown>
  close(): Promise<void>
}

export interface Format {
  open(directory: string, options?: { flush?: 'os' | 'fdatasync'; lockTimeoutMs?: number }): Writer
  file(directory: string): string
  readBack(directory: string): Promise<{ records: Written[]; gaps: unknown[] }>
}

export const formats: Record<string, Format>
export function textOf(writer: string, i: number, bytes: number): string
export function isWhole(record: Written): boolean
export function sizes(seed: number, minBytes?: number): () => number
