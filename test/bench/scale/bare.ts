// What a call costs at least: a Fastify route that does one prepared read. Run as a process, it serves the route.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import Fastify from 'fastify'

/** The CPU time of a call, in ms, of the serving process. */
export async function bareReads(calls = 3_000): Promise<number> {
  const server = spawn(process.execPath, [import.meta.filename, 'serve'], {
    stdio: ['pipe', 'pipe', 'inherit']
  })
  const [origin] = await once(server.stdout, 'data')
  const load = {
    origin: String(origin).trim(),
    token: 'none',
    method: 'GET',
    path: '/me',
    body: null,
    from: 0,
    callers: 8
  }
  const call = async (calls: number) => {
    const callers = spawn(
      process.execPath,
      [join(import.meta.dirname, 'callers.ts'), JSON.stringify({ ...load, calls })],
      {
        stdio: 'ignore'
      }
    )
    await once(callers, 'close')
  }
  await call(calls)
  const cpuMs = await usedBy(server)
  await call(calls)
  const used = (await usedBy(server)) - cpuMs
  server.kill('SIGKILL')
  await once(server, 'close')
  return used / calls
}

async function usedBy({
  stdin,
  stdout
}: {
  stdin: NodeJS.WritableStream
  stdout: NodeJS.ReadableStream
}): Promise<number> {
  stdin.write('cpu\n')
  const [ms] = await once(stdout, 'data')
  return Number(String(ms))
}

async function serve(): Promise<void> {
  const db = new SQLite(':memory:')
  db.exec(`create table user (id text primary key, name text); insert into user values ('ann', 'Ann')`)
  const find = db.prepare('select id, name from user where id = ?')
  const app = Fastify()
  app.get('/me', async () => find.get('ann'))
  process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
  process.stdin.on('data', () => {
    const { user, system } = process.cpuUsage()
    process.stdout.write(`${(user + system) / 1000}\n`)
  })
}

if (process.argv[2] === 'serve') await serve()
