// Empty databases for a run of npm run test:postgres.
import pg from 'pg'
import type { Test } from 'tap'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'

let made = 0

/** Creates a database. Drops it after the test, even with open connections. */
export async function emptyDatabase(t: Pick<Test, 'teardown'>): Promise<PostgresPlace> {
  const template = process.env['SLUICE_TEST_STORE_URL']
  if (template === undefined) throw new Error('run it by npm run test:postgres')
  const at = (name: string): PostgresPlace => {
    const url = Object.assign(new URL(template), { pathname: `/${name}` })
    return { url: url.href, password: undefined }
  }
  const name = `empty_${process.pid}_${++made}`
  await runAt(at('postgres'), [`create database ${name} template template0`])
  t.teardown(() => runAt(at('postgres'), [`drop database if exists ${name} with (force)`]))
  return at(name)
}

/** Opens a separate superuser connection. */
export async function connectTo(t: Pick<Test, 'teardown'>, { url }: PostgresPlace): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => {}) // its database is dropped
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** Makes PostgreSQL run `body` for each row of a table that does not exist yet. */
export const onEachRow = (table: string, body: string): string => `
  create function each_row() returns trigger language plpgsql as $$ begin ${body} return new; end $$;
  create function on_table() returns event_trigger language plpgsql as $$ begin
    if exists (select from pg_event_trigger_ddl_commands() where object_identity = 'public.${table}') then
      create trigger each_row before insert on ${table} for each row execute function each_row();
    end if; end $$;
  create event trigger on_table on ddl_command_end when tag in ('CREATE TABLE') execute function on_table()`
