import { spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import t from 'tap'

const formats = ['json', 'pretty'] as const

/** A process that runs `text` with a `log`; its standard error is a pipe, or what `path` names. */
function logging(format: (typeof formats)[number], text: string, path?: string) {
  const script = `
    import { openLog } from ${JSON.stringify(import.meta.resolve('../../kernel/base/log.ts'))}
    const log = await openLog({ level: 'info', format: '${format}' })
    ${text}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', path === undefined ? 'pipe' : openSync(path, 'w')]
  })
  return {
    child,
    stdout: async () => String(child.stdout && (await buffer(child.stdout))),
    stderr: async () => String(child.stderr && (await buffer(child.stderr)))
  }
}

t.test('whatever ends or holds up the process next, the lines before it are out', async t => {
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

t.test('a log that nobody takes ends nothing', async t => {
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
