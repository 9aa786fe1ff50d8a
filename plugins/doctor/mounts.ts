/** Tells from the text of /proc/self/mountinfo whether the filesystem at a path without links is mounted read-only. */
export function isMountedReadOnly(path: string, mountinfo: string): boolean {
  let longest = ''
  let found = false
  for (const [, escaped = '', options = ''] of mountinfo.matchAll(/^\S+ \S+ \S+ \S+ (\S+) (\S+) .*$/gm)) {
    const at = escaped.replaceAll(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
    const covers = at === '/' || path === at || path.startsWith(`${at}/`)
    if (covers && at.length >= longest.length) [longest, found] = [at, options.split(',').includes('ro')]
  }
  return found
}
