// Every error code has a cause and a remedy: in the README of its owner, in the error index, and on the command line.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { errorIndex, errorIndexFile, indexText } from '../config/build/error-index.ts'
import { sluice } from './support/process.ts'

const index = await errorIndex()

t.test('each code has a cause and a remedy, and the index is current (npm run errors)', async t => {
  t.equal(readFileSync(errorIndexFile, 'utf8'), indexText(index))
  for (const [code, { when, remedy }] of Object.entries(index)) {
    t.match(when, /^[^.].{8,}[^.]$/, `${code}: ${when}`)
    t.match(remedy, /^[^.].{8,}[^.]$/, `${code}: ${remedy}`)
  }
})

t.test('each code of the error table has an explanation', async t => {
  const codes = readFileSync(join(import.meta.dirname, 'frozen', 'errors.txt'), 'utf8').match(/^\S+/gm) ?? []

  t.ok(codes.length > 100)
  t.same(
    codes.filter(code => !Object.hasOwn(index, code)),
    []
  )
})

t.test('the refusal codes of an agent have an explanation', async t => {
  for (const code of ['denied_by_agent', 'field_unknown', 'shape_unknown', 'port_in_use', 'wire.deadline'])
    t.ok(Object.hasOwn(index, code), code)
})

t.test('sluice explain-error shows one code, and names the closest for another', async t => {
  const { code, stdout } = await sluice(['explain-error', 'port_in_use', '--output', 'json'])
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { code: 'port_in_use', http: 409, exit: 5, by: 'rules', remedy: /ss -ltnup/ })

  t.match(await sluice(['explain-error', 'port_in_us']), { code: 8, stderr: /did you mean port_in_use\?/ })
  t.match(await sluice(['explain-error', 'constructor']), {
    code: 8,
    stderr: /there is no error code "constructor"/
  })
})
