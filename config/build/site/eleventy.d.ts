// Types for the parts of Eleventy that we use; the package has none.
declare module '@11ty/eleventy' {
  interface Markdown {
    set(options: { html: boolean }): Markdown
    enable(rule: 'code'): Markdown
    use<O>(plugin: (library: never, options: O) => void, options: O): Markdown
  }
  interface Options {
    setUseGitIgnore(use: boolean): void
    amendLibrary(name: 'md', amend: (library: Markdown) => void): void
    addTemplate(path: string, text: string, data: object): void
    addTransform(name: string, transform: (html: string, path: string) => string): void
  }
  export default class Eleventy {
    constructor(
      input: string,
      output: string,
      options: { quietMode: boolean; config(options: Options): object }
    )
    write(): Promise<unknown>
  }
}
