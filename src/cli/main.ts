#!/usr/bin/env node
console.log('recollect')
