// Migrated SQLite files, so that later servers of a process need no migrations. PostgreSQL has templates itself.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../kernel/store/open.ts'

type Plugins = Parameters<typeof openStore>[1]

interface Template {
  readonly plugins: Plugins
  content: Buffer | null
}

const templates: Template[] = []

/** Opens a store like `openStore`. A new file is a copy of a template if the same plugins had a new file before. */
export const openFromTemplate: typeof openStore = async (place, plugins, openDisk) => {
  if (typeof place === 'string' && place !== ':memory:' && !existsSync(place)) {
    const content = await contentFor(plugins)
    if (content) writeFileSync(place, content)
  }
  return openStore(place, plugins, openDisk)
}

/** Returns null for the first store: many processes open only one. */
async function contentFor(all: Plugins): Promise<Buffer | null> {
  const plugins = all.filter(({ store }) => store)
  const template = templates.find(known => isSame(known.plugins, plugins))
  if (!template) {
    templates.push({ plugins, content: null })
    return null
  }
  template.content ??= await migratedFile(plugins)
  return template.content
}

const isSame = (some: Plugins, others: Plugins): boolean =>
  some.length === others.length && some.every((plugin, at) => plugin === others[at])

async function migratedFile(plugins: Plugins): Promise<Buffer> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-template-'))
  try {
    const file = join(dir, 'sluice.db')
    await (await openStore(file, plugins)).close()
    return readFileSync(file)
  } finally {
    rmSync(dir, { recursive: true })
  }
}
