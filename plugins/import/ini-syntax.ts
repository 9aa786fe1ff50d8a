// Parses INI files, as old versions of frp read them: sections, `key = value` or `key: value`, and lines of comments.
import { invalidFile, type SourceFile } from './source-file.ts'

interface IniEntry {
  readonly key: string
  readonly value: string // without quotes; `true` for a key alone
  readonly line: number // counts from 1
  readonly text: string
}

export interface IniSection {
  readonly name: string
  readonly line: number
  readonly text: string
  readonly entries: readonly IniEntry[]
}

/** Throws `import_invalid` with the line. A section that is given twice is one section, as in frp. Keys can repeat. */
export function parseIni(file: SourceFile): IniSection[] {
  const sections = new Map<string, IniSection & { readonly entries: IniEntry[] }>()
  let current: (IniSection & { readonly entries: IniEntry[] }) | null = null
  for (const [at, raw] of file.text.split('\n').entries()) {
    const text = raw.trim()
    const line = at + 1
    if (text === '' || text.startsWith('#') || text.startsWith(';')) continue
    if (text.startsWith('[')) {
      if (!text.endsWith(']')) throw invalidFile(file.name, line, 'a section must end with ]')
      const name = text.slice(1, -1).trim()
      current = sections.get(name) ?? { name, line, text, entries: [] }
      sections.set(name, current)
      continue
    }
    if (current === null)
      throw invalidFile(file.name, line, 'it is in no section: begin with one such as [common]')
    current.entries.push(parseEntry(text, line))
  }
  return [...sections.values()]
}

function parseEntry(text: string, line: number): IniEntry {
  const end = text.search(/[=:]/)
  if (end < 0) return { key: text, value: 'true', line, text }
  const value = text.slice(end + 1).trim()
  const isQuoted = value.length > 1 && /^["'`]/.test(value) && value.endsWith(value.charAt(0))
  return { key: text.slice(0, end).trim(), value: isQuoted ? value.slice(1, -1) : value, line, text }
}
