import { dirname } from 'node:path'
import { importPlugin, offerFiles } from '../../../kernel/platform/plugins/import-plugin.ts'
import type { ImportExternal } from '../../../kernel/platform/plugins/load-plugins.ts'
import { findHalf, resolvePlugin } from '../../../kernel/platform/plugins/resolve-plugin.ts'
import { refuseWritable } from './plugin-files.ts'
import { findTrusted, pluginFolder, trust } from './plugin-lock.ts'

/** Resolves a half, checks that its files and dependencies are trusted, and imports it. */
export const importExternal: ImportExternal = async (specifier, half, baseDir, trusted = 'recorded') => {
  // An agent skips a plugin that has only a server half. If both are missing, the specifier is wrong.
  if (half === 'agent' && !findHalf(specifier, half, baseDir) && findHalf(specifier, 'plugin', baseDir))
    return null
  const file = resolvePlugin(specifier, half, baseDir)
  const known = trusted === 'present' ? null : findTrusted(specifier, file, baseDir)
  const record = known ?? trust(specifier, file, baseDir)
  offerFiles(pluginFolder(file, baseDir), record.sha256, path => refuseWritable(path, dirname(path)))
  return { module: await importPlugin(file), firstTrusted: known || trusted === 'present' ? null : record }
}
