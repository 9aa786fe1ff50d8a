// Generates docs/ERRORS.md, docs/EVENTS.md and docs/PLUGIN-API.md from the program: npm run docs. The package and the
// site include them, the repository does not.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorIndex, errorsDocument } from './error-index.ts'
import { eventsDocument } from './log-events.ts'
import { pluginApi } from './plugin-api.ts'

/** Returns the text of each generated document by its path in the repository. */
export const generatedDocuments = async (): Promise<Readonly<Record<string, string>>> => ({
  'docs/ERRORS.md': errorsDocument(await errorIndex()),
  'docs/EVENTS.md': eventsDocument(),
  'docs/PLUGIN-API.md': pluginApi()
})

/** Writes the generated documents into the folder `root`. */
export async function writeDocuments(root: string): Promise<void> {
  for (const [file, text] of Object.entries(await generatedDocuments())) writeFileSync(join(root, file), text)
}

if (import.meta.main) await writeDocuments(join(import.meta.dirname, '..', '..'))
