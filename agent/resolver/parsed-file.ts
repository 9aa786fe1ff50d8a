import { readFileSync, statSync } from 'node:fs'

/**
 * Returns a reader of the file's parsed content. It reads the file again after a change. An absent or unreadable file counts
 * as an empty one, as in the C library.
 */
export function openParsedFile<T>(file: string, parse: (text: string) => T): () => T {
  const empty = parse('')
  let content = empty
  let version = '' // of the file when it was last read

  return () => {
    try {
      const { ino, mtimeMs, ctimeMs, size } = statSync(file)
      const current = `${ino} ${mtimeMs} ${ctimeMs} ${size}`
      if (version !== current) content = parse(readFileSync(file, 'utf8'))
      version = current
    } catch {
      content = empty
      version = ''
    }
    return content
  }
}
