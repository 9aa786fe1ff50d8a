export { originIn } from './api/api-client.ts'
export { cacertHelp } from './api/authorities.ts'
export { logIn } from './api/login.ts'
export { checkFilesystem, unsuitableFilesystem } from './server/check-filesystem.ts'
export { findMount } from './server/find-mount.ts'
export { type ServerLife, serverLifeSlot } from './server/server-life.ts'
export { quoteForShell } from './terminal/quote-for-shell.ts'

/** Returns whether a process has locked the data directory. Loads SQLite. */
export const isDataDirLocked = async (dir: string): Promise<boolean> =>
  (await import('./server/is-locked.ts')).isLocked(dir)
