// A refused start under a supervisor that restarts at every exit.
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { privateDir } from '../../../test/support/private-dir.ts'
import { sluice, start } from '../../../test/support/process.ts'

const hold = { SVC_HOLD_REFUSED_START: 'true' }

t.test(
  'a start that a restart would repeat waits for SIGTERM where SVC_HOLD_REFUSED_START is true',
  async t => {
    const dir = privateDir(t)
    const cases = [
      [['server', '--data-dir', join(dir, 'data')], { SVC_CONTROL_LISTEN: 'nonsense' }, 78],
      [['agent', 'run', '--state-dir', dir], { SVC_ENROLL_URI: '"svc://quoted"' }, 2],
      [['server', '--nope'], {}, 2]
    ] as const
    for (const [args, env, exit] of cases) {
      const held = start(t, args, { ...env, ...hold })
      const lines = createInterface({ input: held.child.stderr ?? process.stdin })
      const waits = Promise.withResolvers<void>()
      lines.on('line', line => {
        if (/waits for SIGTERM/.test(line)) waits.resolve()
      })
      const first = await Promise.race([waits.promise, held.exit])
      t.equal(first, undefined, held.output())
      t.equal(held.child.exitCode, null, 'it waits')
      held.signal('SIGTERM')
      t.equal(await held.exit, exit)
      t.equal((await sluice([...args], env)).code, exit, 'without the variable it exits')
    }
  }
)
