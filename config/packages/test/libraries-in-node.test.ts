import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { librariesInNode } from '../libraries-in-node.ts'

t.test('the libraries inside Node are those that the program reports, not those of the builder', async t => {
  const program = join(t.testdir(), 'node')
  writeFileSync(program, `#!/bin/sh\necho '{"node":"1.2.3","modules":"1","napi":"1","openssl":"9.9.9"}'\n`)
  chmodSync(program, 0o755)

  t.same(librariesInNode(program), {
    parts: [{ kind: 'library', name: 'openssl', version: '9.9.9', purl: 'pkg:generic/openssl@9.9.9' }]
  })
  t.match(librariesInNode(process.execPath).parts, [{ name: 'acorn', version: process.versions['acorn'] }])
})

t.test('a Node that this machine cannot run has a note instead of libraries', async t => {
  const program = join(t.testdir({ node: '\x7fELF' }), 'node')
  chmodSync(program, 0o755)

  t.match(librariesInNode(program), { note: /are not listed/, parts: undefined })
})
