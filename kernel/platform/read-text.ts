import { readFileSync } from 'node:fs'

/** Reads a file, or standard input for 0. Throws unless it is UTF-8: no byte is replaced in silence. */
export const readText = (file: string | 0): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file))
