// Prints pages of program files in KiB before and after they are given back, and results that show that the process still works.
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { openGiveBack } from '../idle-memory.ts'

const filePages = (): number =>
  Number(/^RssFile:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1])

const db = new DatabaseSync(':memory:')
const giveBack = openGiveBack()
const before = filePages()
giveBack()
const after = filePages()
giveBack()
const sum = db.prepare('select 20 + 22 as sum').get()?.['sum']
console.log(JSON.stringify({ before, after, sum, parsed: JSON.parse('[1]') }))
