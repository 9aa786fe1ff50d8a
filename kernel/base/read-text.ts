import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'

/** Reads a file, or standard input for 0. Throws unless it is UTF-8: no byte is replaced in silence. */
export function readText(file: string | 0): string {
  const bytes = readFileSync(file)
  if (isUtf8(bytes)) return bytes.toString()
  throw new TypeError('it is not UTF-8; save it in UTF-8')
}
