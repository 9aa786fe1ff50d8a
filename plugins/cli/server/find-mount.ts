interface Mount {
  readonly type: string // of the filesystem; '' if unknown
  readonly isReadOnly: boolean
}

/** Returns the mount of a path that has no symbolic links. `mountinfo`: the text of /proc/self/mountinfo. */
export function findMount(path: string, mountinfo: string): Mount {
  let longest = ''
  let found: Mount = { type: '', isReadOnly: false }
  for (const [, escaped = '', options = '', type = ''] of mountinfo.matchAll(linePattern)) {
    const at = escaped.replaceAll(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
    const covers = at === '/' || path === at || path.startsWith(`${at}/`)
    if (!covers || at.length < longest.length) continue
    longest = at
    found = { type, isReadOnly: options.split(',').includes('ro') } // a later mount hides an earlier one
  }
  return found
}

/** Mount point, mount options, optional fields, '-', type. */
const linePattern = /^\S+ \S+ \S+ \S+ (\S+) (\S+) (?:.* )?- (\S+) /gm
