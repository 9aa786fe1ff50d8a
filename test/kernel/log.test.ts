import { spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'

const formats = ['json', 'pretty'] as const

/** A process that runs `text` with a `log`; its standard error is a pipe, or what `path` names. */
function logging(format: (typeof formats)[number], text: string, path?: string) {
  const script = `
    import { openLog } from ${JSON.stringify(import.meta.resolve('../../kernel/base/log.ts'))}
    const log = await openLog({ level: 'info', format: '${format}' })
    ${text}`
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', path === undefined ? 'pipe' : openSync(path, 'w')]
  })
  return {
    child,
    stdout: async () => String(child.stdout && (await buffer(child.stdout))),
    stderr: async () => String(child.stderr && (await buffer(child.stderr)))
  }
}

t.test('lines are written before a crash, an exit or a blocked event loop', async t => {
  for (const format of formats) {
    const killed = logging(
      format,
      `for (let i = 0; i < 100; i++) log.info('test.line', 'number ' + i)
      process.kill(process.pid, 'SIGKILL')`
    )
    const said = await killed.stderr()
    t.equal(said.match(/test\.line/g)?.length, 100, format)
    t.match(said, 'number 99')
  }
})

t.test('a full disk or a closed pipe does not end the process', async t => {
  for (const format of formats) {
    const full = logging(
      format,
      `for (let i = 0; i < 3; i++) log.info('test.line', 'lost')
      setImmediate(() => console.log('goes on'))`,
      '/dev/full'
    )
    t.match(await full.stdout(), 'goes on', `${format}, a full disk`)

    const gone = logging(
      format,
      `await new Promise(go => process.stdin.once('end', go).resume())
      for (let i = 0; i < 3; i++) log.info('test.line', 'lost')
      setImmediate(() => console.log('goes on'))`
    )
    gone.child.stderr?.destroy()
    gone.child.stdin?.end()
    t.match(await gone.stdout(), 'goes on', `${format}, a closed pipe`)
  }
})

t.test('lines that cannot be written do not use unbounded memory', async t => {
  const mib = 1 << 20
  for (const format of formats) {
    const full = logging(
      format,
      `const used = () => (gc(), process.memoryUsage().heapUsed)
      const before = used()
      for (let i = 0; i < 64; i++) log.info('test.line', i + 'x'.repeat(${mib}))
      setImmediate(() => console.log(used() - before))`,
      '/dev/full'
    )
    const kept = Number(await full.stdout())
    t.ok(kept < 8 * mib, `${format}: ${kept} bytes`)
  }
})

t.test('all lines are written after the disk was full for a while', async t => {
  const dir = t.testdir()
  for (const format of formats) {
    const path = join(dir, format)
    const held = logging(
      format,
      `import { spawnSync } from 'node:child_process'
      const limit = bytes => spawnSync('prlimit', ['--pid', process.pid, '--fsize=' + bytes + ':']).status
      process.on('SIGXFSZ', () => {}) // by default it ends the process
      if (limit(1000) !== 0) console.log('no limits')
      for (let i = 0; i < 100; i++) log.info('test.line', 'number ' + i)
      limit('unlimited')
      log.info('test.after', 'there is room')`,
      path
    )
    if ((await held.stdout()) !== '') return t.plan(0, 'prlimit (util-linux) is not here')
    const said = readFileSync(path, 'utf8')
    t.equal(said.match(/test\.line/g)?.length, 100, format)
    t.match(said, 'there is room')
  }
})
