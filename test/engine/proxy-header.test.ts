// Both parsers of PROXY protocol headers: TypeScript, and C++ where there is a compiler.
import t from 'tap'
import { generateHeaders } from './generated-headers.ts'
import { compileJudge, judgeInTypeScript } from './header-judges.ts'
import { type HeaderCase, headerCases } from './proxy-headers.ts'

const judgeInCpp = compileJudge(t.testdir())

function lineOf({ bytes, means }: HeaderCase): string {
  if (means === 'wrong') return 'wrong 0'
  if (means === 'unnamed') return `unnamed ${bytes.length}`
  return `named ${bytes.length} ${means.source} ${means.destination}`
}

t.test(
  'each header of the table is parsed as the protocol says, byte by byte and with bytes after it',
  async t => {
    const all = Object.values(headerCases)
    for (const [name, header] of Object.entries(headerCases)) {
      t.equal(judgeInTypeScript(header.bytes), lineOf(header), name)
      const followed = Buffer.concat([header.bytes, Buffer.from('\r\nand more\r\n')])
      if (header.means !== 'wrong') t.equal(judgeInTypeScript(followed), lineOf(header), `${name}, and more`)
    }
    if (judgeInCpp) t.same(judgeInCpp(all.map(({ bytes }) => bytes)), all.map(lineOf))
  }
)

t.test('both parsers agree on 20,000 generated headers, also byte by byte', async t => {
  const headers = [...generateHeaders(20_000)]

  const ours = headers.map(judgeInTypeScript)
  const theirs = judgeInCpp?.(headers) ?? ours

  const differing = headers.flatMap((bytes, i) =>
    ours[i] === theirs[i] ? [] : [{ bytes: bytes.toString('latin1'), ours: ours[i], theirs: theirs[i] }]
  )
  t.same(differing, [])
  t.notOk(ours.some(line => line.includes(', byte by byte')))
  for (const kind of ['named', 'unnamed', 'wrong', 'incomplete'])
    t.ok(ours.filter(line => line.startsWith(`${kind} `)).length > 500, kind)
})
