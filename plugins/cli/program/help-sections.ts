/** The sections of `sluice --help`, with the first words of their commands. */
export const sections: Readonly<Record<string, readonly string[]>> = {
  'Start here:': ['up', 'setup', 'login', 'logout', 'doctor'],
  'Rules and traffic:': ['rule', 'explain', 'connection', 'top', 'traffic', 'stats'],
  'Clients:': ['client', 'link', 'agent'],
  'Users and limits:': ['user', 'grant', 'credential', 'scope', 'identity', 'quota', 'owner-limit', 'audit'],
  'Protection:': ['ban', 'source-list', 'under-attack'],
  'Many objects at once:': ['apply', 'diff', 'export', 'import'],
  'Server:': [
    'server',
    'service',
    'config',
    'settings',
    'cert',
    'secrets',
    'plugin',
    'health',
    'notification',
    'store',
    'backup',
    'restore',
    'bootstrap-superadmin',
    'reset-password',
    'gen-token'
  ],
  'Shell and help:': ['completion', 'explain-error']
}

/** The section of commands that commander adds. */
export const lastSection = 'Shell and help:'

const order = Object.values(sections).flat()

/** Run by completion scripts only. */
const hidden = ['complete']

/** Returns the heading of a command. Commands of third-party plugins share one. */
export const sectionOf = (word: string): string =>
  Object.entries(sections).find(([, words]) => words.includes(word))?.[0] ?? 'Commands of other plugins:'

export const isHidden = (word: string): boolean => hidden.includes(word)

/** Returns the place of a command; unknown ones come last. */
const placeOf = (name: string): number => order.indexOf(name.split(' ', 1)[0] ?? '') >>> 0

/** Compares commands by section, then by their place in it; others by name. */
export function compareCommands(a: string, b: string): number {
  return placeOf(a) - placeOf(b) || (a < b ? -1 : 1)
}
