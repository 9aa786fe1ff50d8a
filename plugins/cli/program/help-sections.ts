/** The sections of `sluice --help`, with the first words of their commands. */
export const sections: Readonly<Record<string, readonly string[]>> = {
  'Start here:': ['up', 'setup', 'login', 'logout', 'doctor'],
  'Rules and traffic:': ['rule', 'explain', 'connection', 'top', 'traffic', 'stats'],
  'Clients:': ['client', 'agent'],
  'Users and limits:': ['user', 'grant', 'credential', 'quota', 'owner-limit', 'audit'],
  'Protection:': ['ban', 'source-list', 'under-attack'],
  'Many objects at once:': ['apply', 'diff', 'export'],
  'Server:': [
    'server',
    'service',
    'config',
    'settings',
    'cert',
    'plugin',
    'health',
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

/** Returns the heading of a command. Commands that plugins add have one of their own. */
export const sectionOf = (word: string): string =>
  Object.entries(sections).find(([, words]) => words.includes(word))?.[0] ?? 'Commands of other plugins:'

export const isHidden = (word: string): boolean => hidden.includes(word)

/** Compares commands by section, then by their place in it; others by name. */
export function compareCommands(a: string, b: string): number {
  const [atA, atB] = [a, b].map(name => order.indexOf(name.split(' ', 1)[0] ?? '') >>> 0)
  return (atA ?? 0) - (atB ?? 0) || (a < b ? -1 : 1)
}
