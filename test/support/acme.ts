// Writes a third-party plugin to a folder beside the configuration file.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Configuration that loads the plugin. */
export const withAcme = '[plugins."./acme"]\n'

export function writeAcme(dir: string, half: 'plugin' | 'agent', text: string, version = 1): void {
  const folder = join(dir, 'acme')
  const packageJson = { name: 'acme', version: `${version}.0.0`, type: 'module' }
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  writeFileSync(join(folder, 'package.json'), JSON.stringify(packageJson), { mode: 0o644 })
  writeFileSync(join(folder, `${half}.js`), text, { mode: 0o644 })
}

/** Returns a plugin that inserts a row at each start. Its second release adds a column. */
export const acmeRelease = (version: 1 | 2): string => `
import { defineEntity, defineList, definePlugin, Migration, p, Type } from 'sluice/plugin'

const hasWord = ${version > 1}
class Acme0001 extends Migration {
  up() {
    this.addSql('create table "acme_start" ("id" int not null primary key)')
  }
}
class Acme0002 extends Migration {
  up() {
    this.addSql(\`alter table "acme_start" add column "word" varchar(8) not null default 'old'\`)
  }
}
const Start = defineEntity({
  name: 'AcmeStart',
  tableName: 'acme_start',
  properties: { id: p.integer().primary(), ...(hasWord && { word: p.string().length(8).default('old') }) }
})
export default definePlugin({
  name: 'acme',
  version: '${version}.0.0',
  kernel: '^2.0.0',
  store: {
    entities: [Start],
    migrations: [
      { name: '0001-start', class: Acme0001 },
      ...(hasWord ? [{ name: '0002-word', class: Acme0002 }] : [])
    ]
  },
  routes: [
    defineList({
      url: '/v1/acme',
      action: 'acme.list',
      access: 'superadmin',
      summary: 'Starts.',
      schema: () => ({ row: Type.Object({ id: Type.Integer(), word: Type.Optional(Type.String()) }) }),
      run: ({ store }) => store.read(em => em.find(Start, {}, { orderBy: { id: 'asc' } }))
    })
  ],
  start: ({ deps: { store } }) =>
    store.change(async em => {
      await em.insert(Start, { id: (await em.count(Start)) + 1, ...(hasWord && { word: 'new' }) })
    })
})
`
