// For whoever judges an endpoint without a server: the doctor.
export { judge } from './judge.ts'
