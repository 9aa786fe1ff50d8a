// A plugin with two migrations and a service, and a test of its upgrade.
import type { Test } from 'tap'
import { olderTables, type TestServerOptions, testServer } from '../../../kit/public.ts'
import {
  asFunction,
  defineEntity,
  definePlugin,
  defineRoute,
  type Kernel,
  Migration,
  p,
  Type
} from '../../public.ts'

const Note = defineEntity({
  name: 'AcmeNote',
  tableName: 'acme_notes_note',
  properties: { id: p.string().length(26).primary(), text: p.string().length(64), stars: p.integer() }
})

class First extends Migration {
  override up() {
    this.addSql(
      'create table "acme_notes_note" ("id" varchar(26) not null primary key, "text" varchar(64) not null)'
    )
  }
}

class Stars extends Migration {
  override up() {
    this.addSql('alter table "acme_notes_note" add column "stars" int not null default 0')
  }
}

interface Deps extends Kernel {
  readonly mailer: { send(text: string): void }
}

/** Texts that the plugin's mailer has sent. */
export const sent: string[] = []

export const notes = definePlugin<Deps>({
  name: 'acme-notes',
  version: '1.1.0',
  kernel: '^2.0.0',
  services: { mailer: asFunction(() => ({ send: (text: string) => void sent.push(text) })) },
  store: {
    entities: [Note],
    migrations: [
      { name: '0001-first', class: First },
      { name: '0002-stars', class: Stars }
    ]
  },
  routes: [
    defineRoute({
      method: 'GET',
      url: '/v1/acme-notes',
      action: 'acme_note.list',
      access: 'superadmin',
      summary: 'Lists notes.',
      schema: () => ({
        reply: Type.Array(Type.Object({ id: Type.String(), text: Type.String(), stars: Type.Integer() }))
      }),
      async run({ mailer, store }: Deps) {
        mailer.send('somebody reads')
        return store.read(em => em.findAll(Note))
      }
    })
  ]
})

/** Fills the tables of an older version, starts the present one on them, and compares what it lists. */
export async function upgrade(t: Test, options: TestServerOptions = {}): Promise<void> {
  const server = await testServer(t, { ...options, plugins: [olderTables(notes, '0001-first')] })
  const { store } = server.server.depsOf('acme-notes')
  await store.change(em => em.execute(`insert into acme_notes_note (id, text) values ('a', 'first')`))

  await server.restart({ plugins: [notes] })

  t.same((await server.call('GET', '/v1/acme-notes')).body, [{ id: 'a', text: 'first', stars: 0 }])
  await server.restart()
  t.match(await server.call('GET', '/v1/acme-notes'), { status: 200 }, 'a restart keeps the plugins')
}
