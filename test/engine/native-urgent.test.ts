// Urgent data, which Node cannot send. The kernel ends a read at the urgent mark, even if more bytes follow; splice(2)
// does not pass the mark at all.
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import t, { type Test } from 'tap'
import type { Engine, EngineRule } from '../../agent/engine/engine.ts'
import { spawnChild } from '../support/child-process.ts'
import { freePort } from '../support/ports.ts'
import { proxyFirstRead } from './cases/first-read.ts'
import { compileProgram } from './compile-c.ts'
import { collect, engineFixture, openCaller, openTarget, ruleTo, until } from './engine-fixture.ts'
import { limited, rate } from './meter-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const program = join(t.testdir(), 'urgent')
const isCompiled = compileProgram('urgent.c', program)

interface Sent {
  readonly before: number
  readonly after: number
}

class Peer {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>

  constructor(t: Test, how: 'connect' | 'listen', port: number, { before, after }: Sent, more = ['close']) {
    const { LD_PRELOAD: _, ...env } = process.env
    const args = [how, String(port), String(before), String(after), ...more]
    this.#child = spawnChild(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    t.teardown(() => this.#child.kill())
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]()
  }

  async line(): Promise<string> {
    const { value } = await this.#lines.next()
    return value
  }

  /** Makes it read, and returns the number of bytes until the FIN, or 'reset'. */
  readToEnd(): Promise<string> {
    this.#child.stdin.end('\n')
    return this.line()
  }

  async leave(): Promise<void> {
    this.#child.stdin.end()
    await once(this.#child, 'exit')
  }
}

/** Below, in and above the range where copying becomes splicing. */
const sizes = [1, 16_000, 16_384, 20_000, 3_000_000]
const answerBytes = 3_000_000

/** Opens a rule on the path that the bytes take through the engine. */
const paths: Readonly<Record<string, (engine: Engine, port: number) => Promise<EngineRule>>> = {
  'a plain port': (engine, port) => openRule(engine, port, {}),
  'a port with a rate cap': (engine, port) => {
    engine.setMeter(1, limited({ bytesIn: rate(1e9, 1e6), bytesOut: rate(1e9, 1e6) }))
    return openRule(engine, port, { meters: [1] })
  },
  async 'the fallback of a port with TLS names'(engine, port) {
    const { from } = await openRule(engine, port, { name: 'one.test' })
    return openRule(engine, port, { from, fallback: true })
  },
  'a port with PROXY headers': (engine, port) => openRule(engine, port, { firstRead: proxyFirstRead })
}

async function openRule(engine: Engine, port: number, changes: Partial<EngineRule>): Promise<EngineRule> {
  const rule = await ruleTo([port], changes)
  await engine.open(rule)
  return rule
}

function expected({ before, after }: Sent): Buffer {
  return Buffer.concat([Buffer.alloc(before, 'a'), Buffer.from('!'), Buffer.alloc(after, 'b')])
}

const { openEngine } = native.ok ? native : {}
if (!openEngine) t.plan(0, native.ok ? '' : native.reason)
else if (!isCompiled) t.plan(0, 'there is no C compiler')
else {
  t.test(
    'an urgent byte arrives in line, with the bytes after it, without waiting for the next packet',
    async t => {
      const { engine, events } = engineFixture(t, openEngine)
      const received: Buffer[] = []
      const port = await openTarget(t, socket => socket.on('data', bytes => received.push(bytes)))
      const rule = await ruleTo([{ host: 'late.test', port }])
      await engine.open(rule)
      const caller = new Peer(t, 'connect', rule.from, { before: 2, after: 2 }, [])
      t.equal(await caller.line(), 'sent') // before the target is dialed

      await until(() => events.some(({ kind }) => kind === 'resolve'))
      for (const event of events)
        if (event.kind === 'resolve') engine.resolved(event.token, { ok: true, addresses: ['127.0.0.1'] })

      await until(() => Buffer.concat(received).length >= 5)
      t.equal(Buffer.concat(received).toString(), 'aa!bb')
      await caller.leave()
    }
  )

  for (const [path, open] of Object.entries(paths))
    for (const after of path === 'a plain port' ? [0, 1, 20_000] : [0])
      for (const before of sizes)
        t.test(
          `a caller that sends ${before} bytes, an urgent one and ${after} to ${path} gets the whole answer`,
          async t => {
            const fixture = engineFixture(t, openEngine)
            const received: Promise<Buffer>[] = []
            const port = await openTarget(t, socket => {
              received.push(collect(socket))
              socket.end(Buffer.alloc(answerBytes))
            })
            const rule = await open(fixture.engine, port)
            const text = rule.firstRead ? ['PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n'] : []
            const caller = new Peer(t, 'connect', rule.from, { before, after }, ['close', ...text])
            t.equal(await caller.line(), 'sent')
            await until(() => received.length > 0)
            await fixture.engine.close(rule.id, null) // the connection drains
            t.ok((await received[0])?.equals(expected({ before, after })))

            t.equal(await caller.readToEnd(), String(answerBytes))
            const counted = { bytesIn: before + 1 + after, bytesOut: answerBytes, active: 0 }
            t.match(await fixture.finalCounters(rule.id), { ports: [counted] })
          }
        )

  for (const before of sizes)
    t.test(`a target that sends ${before} bytes and an urgent one gets the whole upload`, async t => {
      const { engine, finalCounters } = engineFixture(t, openEngine)
      const port = await freePort()
      const target = new Peer(t, 'listen', port, { before, after: 0 })
      t.equal(await target.line(), 'listening')
      const rule = await ruleTo([port])
      await engine.open(rule)
      const caller = await openCaller(t, rule.from)
      caller.end(Buffer.alloc(answerBytes))
      t.ok((await collect(caller)).equals(expected({ before, after: 0 })))

      t.equal(await target.line(), 'sent')
      t.equal(await target.readToEnd(), String(answerBytes))
      await engine.close(rule.id, null)
      t.match(await finalCounters(rule.id), {
        ports: [{ bytesIn: answerBytes, bytesOut: before + 1, active: 0 }]
      })
    })
}
