import t from 'tap'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { openRefusedRows } from '../delivery/refused-rows.ts'

t.test(
  'refused rows log one line for each client and minute, with the number of suppressed rows',
  async t => {
    const lines: unknown[] = []
    const write = (_: string, __: string, fields?: object): void => void lines.push(fields)
    const clock = fakeClock(0)
    const refuse = openRefusedRows({ clock, log: { debug: write, info: write, warn: write, error: write } })
    const row = { report: 'stats', reason: 'key', rule: 'r' } as const
    const all = { ...row, kind: undefined, key: undefined }

    refuse('a', [])
    refuse('a', [row, row, row])
    refuse('b', [row])
    refuse('a', [row])
    t.strictSame(lines, [
      { client: 'a', ...all, suppressed: 0 },
      { client: 'b', ...all, suppressed: 0 }
    ])
    await clock.advance(60_000)
    t.strictSame(lines.slice(2), [{ client: 'a', ...all, suppressed: 3 }])

    refuse('a', [row])
    t.strictSame(lines.slice(3), [{ client: 'a', ...all, suppressed: 0 }])
  }
)
