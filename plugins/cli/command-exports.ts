export { size } from './size.ts'
