import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const server = process.env['SLUICE_SERVER'] ?? 'http://127.0.0.1:7080'

/** Writes NAME.br and NAME.gz beside each file, because the server does not compress. */
const compressed = (folder: string): Plugin => ({
  name: 'compressed',
  apply: 'build',
  closeBundle() {
    for (const name of readdirSync(folder)) {
      const file = join(folder, name)
      const body = readFileSync(file)
      writeFileSync(
        `${file}.br`,
        brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
      )
      writeFileSync(`${file}.gz`, gzipSync(body, { level: 9 }))
    }
  }
})

export default defineConfig({
  root: import.meta.dirname,
  html: { cspNonce: '__NONCE__' }, // replaced in each response: ../console-site.ts
  resolve: { dedupe: ['react', 'react-dom'] }, // the tree has a second React, of a tool
  plugins: [react(), compressed(join(import.meta.dirname, '../dist/assets'))],
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // One chunk for everything that the entry needs: it compresses better than many small ones. Pages stay apart.
        codeSplitting: { groups: [{ name: 'shell', tags: ['$initial'] }] },
        // Names the chunk of a page after its folder.
        chunkFileNames: ({ name, facadeModuleId }) =>
          `assets/${/pages[/](\w[\w-]*)[/]page[.]tsx$/.exec(facadeModuleId ?? '')?.[1] ?? name}-[hash].js`
      }
    }
  },
  server: { proxy: { '/v1': server, '/livez': server } }
})
