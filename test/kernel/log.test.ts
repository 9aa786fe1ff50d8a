import { spawnSync } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { spawnChild } from '../support/child-process.ts'

const formats = ['auto', 'json', 'pretty'] as const

/** Starts a process that runs `code` with a `log`. Its standard error is a pipe, or the file at `path`. */
function startLogging(format: (typeof formats)[number], code: string, path?: string) {
  const script = `
    import { openLog } from ${JSON.stringify(import.meta.resolve('../../kernel/platform/log.ts'))}
    const log = await openLog({ level: 'info', format: '${format}' })
    ${code}`
  const child = spawnChild(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', path === undefined ? 'pipe' : openSync(path, 'w')]
  })
  return {
    child,
    stdout: async () => String(child.stdout && (await buffer(child.stdout))),
    stderr: async () => String(child.stderr && (await buffer(child.stderr)))
  }
}

t.test('lines that were logged before a SIGKILL are written', async t => {
  for (const format of formats) {
    const killed = startLogging(
      format,
      `for (let i = 0; i < 100; i++) log.info('test.line', 'number ' + i)
      process.kill(process.pid, 'SIGKILL')`
    )
    const output = await killed.stderr()
    t.equal(output.match(/test\.line/g)?.length, 100, format)
    t.match(output, 'number 99')
  }
})

t.test('a full disk or a closed pipe does not end the process', async t => {
  for (const format of formats) {
    const full = startLogging(
      format,
      `for (let i = 0; i < 3; i++) log.info('test.line', 'lost')
      setImmediate(() => console.log('still running'))`,
      '/dev/full'
    )
    t.match(await full.stdout(), 'still running', `${format}, a full disk`)

    const closed = startLogging(
      format,
      `await new Promise(resolve => process.stdin.once('end', resolve).resume())
      for (let i = 0; i < 3; i++) log.info('test.line', 'lost')
      setImmediate(() => console.log('still running'))`
    )
    closed.child.stderr?.destroy()
    closed.child.stdin?.end()
    t.match(await closed.stdout(), 'still running', `${format}, a closed pipe`)
  }
})

t.test('lines that cannot be written use bounded memory', async t => {
  const mib = 1 << 20
  for (const format of formats) {
    const full = startLogging(
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
    const limited = startLogging(
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
    if ((await limited.stdout()) !== '') return t.plan(0, 'prlimit (util-linux) is not installed')
    const output = readFileSync(path, 'utf8')
    t.equal(output.match(/test\.line/g)?.length, 100, format)
    t.match(output, 'there is room')
  }
})

/** Returns what a process logs with the format `auto` on a terminal of util-linux's `script`. */
function onTerminal(env: NodeJS.ProcessEnv): string | undefined {
  const code = `
    import { openLog } from ${JSON.stringify(import.meta.resolve('../../kernel/platform/log.ts'))}
    const log = await openLog({ level: 'info', format: 'auto' })
    log.warn('test.line', 'number 1', { port: 7080 })`
  const { TERM: _, NO_COLOR: __, FORCE_COLOR: ___, CI: ____, ...rest } = process.env // each decides on colours
  const { error, stdout } = spawnSync(
    'script',
    ['--quiet', '--return', '--command', '"$NODE" --input-type=module -e "$CODE"', '/dev/null'],
    {
      encoding: 'utf8',
      env: { ...rest, NODE: process.execPath, CODE: code, TERM: 'xterm-256color', ...env }
    }
  )
  return error ? undefined : stdout
}

t.test(
  'auto is a readable line on a terminal, in colour unless NO_COLOR is set, and JSON elsewhere',
  async t => {
    const piped = startLogging('auto', "log.warn('test.line', 'number 1', { port: 7080 })")
    t.match(JSON.parse(await piped.stderr()), {
      level: 'warn',
      event: 'test.line',
      msg: 'number 1',
      port: 7080
    })

    const plain = onTerminal({ NO_COLOR: '1' })
    if (plain === undefined) return t.comment('script (util-linux) is not installed')
    t.match(plain, /^\[[\d:.]+\] WARN: test\.line: number 1 \{"port":7080\}\r\n$/)
    const coloured = onTerminal({})
    t.match(coloured, '\u001b[33m')
    t.match(coloured, 'test.line: number 1')
  }
)

t.test('lines of a request have its id and the id of its trace', async t => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const { stderr } = startLogging(
    'json',
    `const { currentRequestId } = await import(${JSON.stringify(import.meta.resolve('../../kernel/base/request-id.ts'))})
    const { currentTrace } = await import(${JSON.stringify(import.meta.resolve('../../kernel/base/trace.ts'))})
    const trace = { traceparent: '00-${traceId}-00f067aa0ba902b7-01' }
    currentRequestId.run('r-1', () => currentTrace.run(trace, () => log.info('test.line', 'within')))
    log.info('test.line', 'outside')`
  )

  const [within = '', outside = ''] = (await stderr()).trim().split('\n')

  t.match(JSON.parse(within), { request_id: 'r-1', trace_id: traceId })
  t.notMatch(outside, /request_id|trace_id/)
})
