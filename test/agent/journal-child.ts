// An agent's journal in a separate process that a test kills. Prints the counted bytes after each tick.
import { openJournal } from '../../agent/journal/journal.ts'
import { openStateDatabase } from '../../agent/state/state-database.ts'
import { systemClock } from '../../kernel/base/clock.ts'
import { ruleCounters, webRule } from './journal-fixture.ts'

const db = openStateDatabase(process.argv[2] ?? '', 'normal')
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const journal = openJournal({ db, clock: systemClock, log: silent })
journal.bind(1, webRule)
let bytes = 0
process.stdin.on('data', () => {
  bytes += 1000
  journal.tick([ruleCounters(1, [bytes, 0])])
  process.stdout.write(`${bytes}\n`)
})
