/** In the single-file agent, instead of config/external/public-modules.ts: the file itself has the exports. */
export const publicModules: Readonly<Record<string, URL>> = {
  'sluice/agent-plugin': new URL(import.meta.url)
}
