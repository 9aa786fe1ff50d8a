import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'

/** Reads a file without a byte order mark. Throws unless it is UTF-8: no byte is replaced. */
export function readText(file: string): string {
  const bytes = readFileSync(file)
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes)
  throw new TypeError('it is not UTF-8; save it in UTF-8')
}
